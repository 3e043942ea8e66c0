/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call of ncoll_eventual.hpp on 1, 2 and 4 forked ranks. */
#include "ncoll_eventual.hpp"
#include "test_cpp.hpp"

#include <cmath>

using namespace std::chrono_literals;

namespace
{

/* Runs what four forms of a call give: `done()` after each. */
template <class Block, class Timed, class Start, class Init, class Done>
void four(Block blocking, Timed timed, Start start, Init init, Done done)
{
    blocking();
    done();
    while (!timed(1ms))
        ;
    done();
    start().wait();
    done();
    ncoll::request r = init();
    for (int i = 0; i < 2; i++) {
        r.start();
        while (!r.test())
            ;
        done();
    }
}

void stale_synchronous(ncoll::group &world)
{
    const std::size_t n = 10;
    const double p = world.size();
    ncoll::stale_params params;
    params.max_slack = 4;
    params.clocks = 1;
    ncoll::stale object(world, n, NCOLL_DOUBLE, ncoll::sum, params);
    std::vector<double> in(n, 1), out(n);
    ncoll::stale_result result;
    std::uint64_t calls = 0;

    four([&] { object.allreduce(in, out, 0, &result); },
         [&](ncoll::timeout t) { return object.allreduce(in, out, 0, &result, t); },
         [&] { return object.allreduce_start(in, out, 0, &result); },
         [&] { return object.allreduce_init(in, out, 0, &result); },
         [&] {
             EXPECT(out == std::vector<double>(n, p));
             EXPECT(result.clock == ++calls && result.fresh == world.size());
         });
    for (int i = 0; i < 8; i++) { /* all bring ones: the sum is right, however old they are */
        object.allreduce(in, out, 4, &result);
        EXPECT(out == std::vector<double>(n, p));
        EXPECT(result.min_clock + 4 >= result.clock && result.clocks != nullptr);
    }
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, object.allreduce(in, out, 5));
    std::vector<float> other(n);
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, object.allreduce(in, other, 0));
    ncoll::stale moved = std::move(object);
    EXPECT(moved && !object); // NOLINT: that it is empty is what is tested
    EXPECT_THROWS(NCOLL_ERR_HANDLE, object.allreduce(in, out, 0));
    while (!moved.free(1ms))
        ;

    params.partial = 1;
    ncoll::stale partial;
    while (!partial.create(world, n, NCOLL_DOUBLE, ncoll::sum, params, 1ms))
        ;
    double total = 0;
    const int rounds = 5;
    auto add = [&] { total += out[n - 1]; };
    four([&] { partial.allreduce_partial(in, out, NCOLL_SOLO, &result); },
         [&](ncoll::timeout t) {
             return partial.allreduce_partial(in, out, NCOLL_MAJORITY, &result, t);
         },
         [&] { return partial.allreduce_partial_start(in, out, NCOLL_SOLO, &result); },
         [&] { return partial.allreduce_partial_init(in, out, NCOLL_MAJORITY, &result); }, add);
    partial.allreduce_partial(in, out, world.size());
    add(); /* this call has waited for what others brought to all of these */
    EXPECT(total == p * (rounds + 1));
}

void thresholds(ncoll::group &world)
{
    const std::size_t n = 8;
    const double p = world.size();
    std::vector<double> x(n), weights(n);
    std::vector<std::uint8_t> elements(n), ranks(static_cast<std::size_t>(world.size()));
    ncoll::threshold_status status(elements, ranks);
    auto quarter = ncoll::threshold::data(0.25);
    auto fresh = [&] { std::fill(x.begin(), x.end(), world.rank() == 0 ? 1 : 0); };

    fresh();
    four([&] { ncoll::bcast_threshold(world, x, 0, quarter, &status); },
         [&](ncoll::timeout t) { return ncoll::bcast_threshold(world, x, 0, quarter, &status, t); },
         [&] { return ncoll::bcast_threshold_start(world, x, 0, quarter, &status); },
         [&] { return ncoll::bcast_threshold_init(world, x, 0, quarter, &status); },
         [&] {
             EXPECT(x[1] == 1 && x[2] == (world.rank() == 0 ? 1 : 0) && status.elements == 2);
             EXPECT(elements[1] == 1 && elements[2] == 0);
         });
    ncoll::bcast_threshold(world, x, 0, ncoll::threshold::data(1).following(status), &status);
    EXPECT(x == std::vector<double>(n, 1) && status.elements == n);

    for (std::size_t i = 0; i < n; i++)
        weights[i] = static_cast<double>(i);
    auto half = ncoll::threshold::heaviest(0.5, weights);
    std::vector<double> in(n, 1), out(n, -1);
    ncoll::threshold_status of_reduce(elements);
    four([&] { ncoll::reduce_threshold(world, in, out, ncoll::sum, 0, half, &of_reduce); },
         [&](ncoll::timeout t) {
             return ncoll::reduce_threshold(world, in, out, ncoll::sum, 0, half, &of_reduce, t);
         },
         [&] {
             return ncoll::reduce_threshold_start(world, in, out, ncoll::sum, 0, half, &of_reduce);
         },
         [&] {
             return ncoll::reduce_threshold_init(world, in, out, ncoll::sum, 0, half, &of_reduce);
         },
         [&] {
             EXPECT(out[0] == -1 && out[n - 1] == (world.rank() == 0 ? p : -1));
             EXPECT(of_reduce.elements == 4 && elements[n - 1] == 1);
         });
    ncoll::threshold_status of_ranks({}, ranks);
    ncoll::reduce_threshold(world, in, out, ncoll::sum, 0, ncoll::threshold::ranks(1), &of_ranks);
    EXPECT(of_ranks.ranks == world.size() && (world.rank() != 0 || out[0] == p));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT,
                  ncoll::bcast_threshold(world, x, 0, ncoll::threshold::data(1.5)));
}

void compressed(ncoll::group &world)
{
    const std::size_t n = 64;
    const float p = static_cast<float>(world.size());
    ncoll::compressor rounded(world, ncoll::codec::round16(NCOLL_HALF), n, NCOLL_FLOAT, true);
    std::vector<float> in(n, 0.5F), out(n), lost(n, 1);

    four([&] { rounded.allreduce(in, out); },
         [&](ncoll::timeout t) { return rounded.allreduce(in, out, t); },
         [&] { return rounded.allreduce_start(in, out); },
         [&] { return rounded.allreduce_init(in, out); },
         [&] { EXPECT(out == std::vector<float>(n, 0.5F * p)); });
    rounded.residual(lost);
    EXPECT(lost == std::vector<float>(n, 0)); /* 0.5 can be represented */
    std::vector<float> from = world.rank() == 0 ? in : std::vector<float>();
    ncoll::const_buffer at = world.rank() == 0 ? ncoll::const_buffer(from) : ncoll::const_buffer();
    four([&] { rounded.bcast(at, out, 0); },
         [&](ncoll::timeout t) { return rounded.bcast(at, out, 0, t); },
         [&] { return rounded.bcast_start(at, out, 0); },
         [&] { return rounded.bcast_init(at, out, 0); }, [&] { EXPECT(out == in); });

    ncoll::compressor top(world, ncoll::codec::topk(0.25), n, NCOLL_FLOAT, true);
    for (std::size_t i = 0; i < n; i++)
        in[i] = static_cast<float>(i);
    top.allreduce(in, out);
    top.residual(lost);
    EXPECT(out[n - 1] == p * static_cast<float>(n - 1) && out[0] == 0);
    EXPECT(lost[n - 1] == 0 && lost[5] == 5);
    top.reset();
    top.residual(lost);
    EXPECT(lost[5] == 0);
    std::vector<float> kept(n, 2);
    top.reset(kept);
    top.residual(lost);
    EXPECT(lost == kept);
    ncoll::compressor moved = std::move(top);
    EXPECT(moved && !top); // NOLINT
    moved.free();
    EXPECT_THROWS(NCOLL_ERR_HANDLE, moved.residual(lost));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, ncoll::codec::topk(2));
    std::vector<double> wide(n);
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, rounded.residual(wide));
}

int rank_main(const ncoll::params &params)
{
    ncoll::context ctx(params);
    ncoll::group world = ctx.world();

    stale_synchronous(world);
    thresholds(world);
    compressed(world);
    world.barrier();
    return failures;
}

} // namespace

int main()
{
    for (int ranks : {1, 2, 4})
        expect_codes(ncoll::fork_ranks(ranks, rank_main), ranks);
    std::printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
