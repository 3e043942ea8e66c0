/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call of ncoll.hpp, in its four forms, on 1 to 4 forked ranks: the results, what is moved
 * and destroyed when, and what throws. test_cpp_eventual.cpp has the calls of ncoll_eventual.hpp.
 */
#include "test_cpp.hpp"

#include <atomic>
#include <limits>
#include <numeric>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

namespace
{

/* Runs a collective in its four forms: each must give what `right` accepts. `forget` spoils
 * outputs. */
template <class Block, class Timed, class Start, class Init, class Forget, class Right>
void four(Block blocking, Timed timed, Start start, Init init, Forget forget, Right right)
{
    forget();
    blocking();
    right();

    forget();
    while (!timed(ncoll::test))
        ;
    right();
    forget();
    while (!timed(2ms))
        ;
    right();

    forget();
    {
        ncoll::request r = start();
        EXPECT(!r.persistent());
        while (!r.test())
            ;
        EXPECT(!r);
        r.wait(); /* of one that is over: no error */
    }
    right();
    forget();
    start().wait();
    right();
    forget();
    {
        ncoll::request left = start(); /* its destructor waits */
    }
    right();

    ncoll::request p = init();
    EXPECT(p.persistent());
    for (int i = 0; i < 3; i++) {
        forget();
        p.start();
        while (!p.wait(1ms))
            ;
        right();
    }
    p.free();
    EXPECT(!p);
}

template <class T> std::vector<T> numbers(std::size_t n, T from)
{
    std::vector<T> v(n);
    std::iota(v.begin(), v.end(), from);
    return v;
}

struct job {
    ncoll::context ctx;
    ncoll::group world;
    int rank, size;
    std::size_t p, me;

    explicit job(const ncoll::params &params)
        : ctx(params), world(ctx.world()), rank(world.rank()), size(world.size()),
          p(static_cast<std::size_t>(size)), me(static_cast<std::size_t>(rank))
    {
    }
};

void reductions(job &j)
{
    const std::size_t n = 37;
    auto in = numbers<double>(n, j.rank);
    std::vector<double> out(n), want(n);
    const double total = j.size * (j.size - 1) / 2.0;
    auto forget = [&] { std::fill(out.begin(), out.end(), -1); };

    for (std::size_t i = 0; i < n; i++)
        want[i] = total + static_cast<double>(i) * j.size;
    four([&] { j.world.allreduce(in, out, ncoll::sum); },
         [&](ncoll::timeout t) { return j.world.allreduce(in, out, std::plus<>(), t); },
         [&] { return j.world.allreduce_start(in, out, ncoll::sum); },
         [&] { return j.world.allreduce_init(in, out, ncoll::sum); }, forget,
         [&] { EXPECT(out == want); });

    for (int root = 0; root < j.size; root++) {
        ncoll::buffer at = j.rank == root ? ncoll::buffer(out) : ncoll::buffer();
        four([&] { j.world.reduce(in, at, ncoll::sum, root); },
             [&](ncoll::timeout t) { return j.world.reduce(in, at, ncoll::sum, root, t); },
             [&] { return j.world.reduce_start(in, at, ncoll::sum, root); },
             [&] { return j.world.reduce_init(in, at, ncoll::sum, root); }, forget,
             [&] { EXPECT(j.rank == root ? out == want : out[0] == -1); });
        std::vector<double> b(n);
        four([&] { j.world.bcast(b, root); },
             [&](ncoll::timeout t) { return j.world.bcast(b, root, t); },
             [&] { return j.world.bcast_start(b, root); },
             [&] { return j.world.bcast_init(b, root); },
             [&] {
                 std::fill(b.begin(), b.end(), 0);
                 if (j.rank == root)
                     std::iota(b.begin(), b.end(), 7);
             },
             [&] { EXPECT(b == numbers<double>(n, 7)); });
    }

    for (std::size_t i = 0; i < n; i++)
        want[i] = j.rank * (j.rank + 1) / 2.0 + static_cast<double>(i) * (j.rank + 1);
    four([&] { j.world.scan(in, out, ncoll::sum); },
         [&](ncoll::timeout t) { return j.world.scan(in, out, ncoll::sum, t); },
         [&] { return j.world.scan_start(in, out, ncoll::sum); },
         [&] { return j.world.scan_init(in, out, ncoll::sum); }, forget,
         [&] { EXPECT(out == want); });
    for (std::size_t i = 0; i < n; i++)
        want[i] = j.rank == 0 ? -1 : want[i] - in[i];
    four([&] { j.world.exscan(in, out, ncoll::sum); },
         [&](ncoll::timeout t) { return j.world.exscan(in, out, ncoll::sum, t); },
         [&] { return j.world.exscan_start(in, out, ncoll::sum); },
         [&] { return j.world.exscan_init(in, out, ncoll::sum); }, forget,
         [&] { EXPECT(out == want); });
}

/* All rank r's elements are r * 100 + i; blocks have r + 1 elements where counts differ. */
void movements(job &j)
{
    const std::size_t n = 5;
    auto in = numbers<std::int32_t>(n, j.rank * 100);
    std::vector<std::int32_t> all(n * j.p), want;
    auto forget = [&] { std::fill(all.begin(), all.end(), -1); };

    for (int r = 0; r < j.size; r++)
        for (std::size_t i = 0; i < n; i++)
            want.push_back(r * 100 + static_cast<std::int32_t>(i));
    four([&] { j.world.allgather(in, all); },
         [&](ncoll::timeout t) { return j.world.allgather(in, all, t); },
         [&] { return j.world.allgather_start(in, all); },
         [&] { return j.world.allgather_init(in, all); }, forget, [&] { EXPECT(all == want); });
    for (int root = 0; root < j.size; root++) {
        ncoll::buffer at = j.rank == root ? ncoll::buffer(all) : ncoll::buffer();
        four([&] { j.world.gather(in, at, root); },
             [&](ncoll::timeout t) { return j.world.gather(in, at, root, t); },
             [&] { return j.world.gather_start(in, at, root); },
             [&] { return j.world.gather_init(in, at, root); }, forget,
             [&] { EXPECT(j.rank == root ? all == want : all[0] == -1); });
        std::vector<std::int32_t> mine(n);
        ncoll::const_buffer from =
            j.rank == root ? ncoll::const_buffer(want) : ncoll::const_buffer();
        four([&] { j.world.scatter(from, mine, root); },
             [&](ncoll::timeout t) { return j.world.scatter(from, mine, root, t); },
             [&] { return j.world.scatter_start(from, mine, root); },
             [&] { return j.world.scatter_init(from, mine, root); },
             [&] { std::fill(mine.begin(), mine.end(), -1); }, [&] { EXPECT(mine == in); });
    }

    /* Rank r has an element for each rank q: r * 10 + q. */
    std::vector<std::int32_t> out(j.p), mine, theirs;
    for (int q = 0; q < j.size; q++) {
        mine.push_back(j.rank * 10 + q);
        theirs.push_back(q * 10 + j.rank);
    }
    four([&] { j.world.alltoall(mine, out); },
         [&](ncoll::timeout t) { return j.world.alltoall(mine, out, t); },
         [&] { return j.world.alltoall_start(mine, out); },
         [&] { return j.world.alltoall_init(mine, out); },
         [&] { std::fill(out.begin(), out.end(), -1); }, [&] { EXPECT(out == theirs); });
}

void with_counts(job &j, bool reversed)
{
    std::vector<std::size_t> counts, displs(j.p);
    std::size_t total = 0;

    for (std::size_t r = 0; r < j.p; r++)
        counts.push_back(r + 1);
    for (std::size_t i = 0; i < j.p; i++) {
        std::size_t r = reversed ? j.p - 1 - i : i;
        displs[r] = total;
        total += counts[r];
    }
    ncoll::span<const std::size_t> places;
    if (reversed)
        places = displs;
    std::vector<std::int64_t> in(j.me + 1, j.rank), all(total), want(total), mine(j.me + 1);
    for (std::size_t r = 0; r < j.p; r++)
        for (std::size_t i = 0; i < counts[r]; i++)
            want[displs[r] + i] = static_cast<std::int64_t>(r);
    auto forget = [&] { std::fill(all.begin(), all.end(), -1); };

    four([&] { j.world.allgatherv(in, all, counts, places); },
         [&](ncoll::timeout t) { return j.world.allgatherv(in, all, counts, places, t); },
         [&] { return j.world.allgatherv_start(in, all, counts, places); },
         [&] { return j.world.allgatherv_init(in, all, counts, places); }, forget,
         [&] { EXPECT(all == want); });
    for (int root = 0; root < j.size; root++) {
        ncoll::buffer at = j.rank == root ? ncoll::buffer(all) : ncoll::buffer();
        four([&] { j.world.gatherv(in, at, counts, root, places); },
             [&](ncoll::timeout t) { return j.world.gatherv(in, at, counts, root, places, t); },
             [&] { return j.world.gatherv_start(in, at, counts, root, places); },
             [&] { return j.world.gatherv_init(in, at, counts, root, places); }, forget,
             [&] { EXPECT(j.rank == root ? all == want : all[0] == -1); });
        ncoll::const_buffer from =
            j.rank == root ? ncoll::const_buffer(want) : ncoll::const_buffer();
        four(
            [&] { j.world.scatterv(from, counts, mine, root, places); },
            [&](ncoll::timeout t) { return j.world.scatterv(from, counts, mine, root, places, t); },
            [&] { return j.world.scatterv_start(from, counts, mine, root, places); },
            [&] { return j.world.scatterv_init(from, counts, mine, root, places); },
            [&] { std::fill(mine.begin(), mine.end(), -1); }, [&] { EXPECT(mine == in); });
    }

    /* To rank q go q + 1 elements, so rank r gets r + 1 of each. */
    std::vector<std::size_t> got(j.p, j.me + 1), got_at(j.p);
    for (std::size_t r = 0; r < j.p; r++)
        got_at[r] = (reversed ? j.p - 1 - r : r) * (j.me + 1);
    ncoll::span<const std::size_t> got_places;
    if (reversed)
        got_places = got_at;
    std::vector<std::int64_t> sent(total, j.rank), out(j.p * (j.me + 1)), right(out.size());
    for (std::size_t r = 0; r < j.p; r++)
        std::fill_n(right.begin() + static_cast<std::ptrdiff_t>(got_at[r]), j.me + 1,
                    static_cast<std::int64_t>(r));
    four([&] { j.world.alltoallv(sent, counts, out, got, places, got_places); },
         [&](ncoll::timeout t) {
             return j.world.alltoallv(sent, counts, out, got, places, got_places, t);
         },
         [&] { return j.world.alltoallv_start(sent, counts, out, got, places, got_places); },
         [&] { return j.world.alltoallv_init(sent, counts, out, got, places, got_places); },
         [&] { std::fill(out.begin(), out.end(), -1); }, [&] { EXPECT(out == right); });

    if (reversed)
        return;
    std::vector<std::int64_t> ramp = numbers<std::int64_t>(total, 0), slice(j.me + 1),
                              sum(j.me + 1);
    for (std::size_t i = 0; i <= j.me; i++)
        sum[i] = static_cast<std::int64_t>((displs[j.me] + i) * j.p);
    four([&] { j.world.reduce_scatter(ramp, slice, counts, ncoll::sum); },
         [&](ncoll::timeout t) {
             return j.world.reduce_scatter(ramp, slice, counts, ncoll::sum, t);
         },
         [&] { return j.world.reduce_scatter_start(ramp, slice, counts, ncoll::sum); },
         [&] { return j.world.reduce_scatter_init(ramp, slice, counts, ncoll::sum); },
         [&] { std::fill(slice.begin(), slice.end(), -1); }, [&] { EXPECT(slice == sum); });
    std::vector<std::int64_t> two(2), even = numbers<std::int64_t>(2 * j.p, 0);
    four([&] { j.world.reduce_scatter_block(even, two, ncoll::max); },
         [&](ncoll::timeout t) { return j.world.reduce_scatter_block(even, two, ncoll::max, t); },
         [&] { return j.world.reduce_scatter_block_start(even, two, ncoll::max); },
         [&] { return j.world.reduce_scatter_block_init(even, two, ncoll::max); },
         [&] { std::fill(two.begin(), two.end(), -1); },
         [&] { EXPECT(two[0] == 2 * j.rank && two[1] == 2 * j.rank + 1); });
}

void barriers(job &j)
{
    four([&] { j.world.barrier(); }, [&](ncoll::timeout t) { return j.world.barrier(t); },
         [&] { return j.world.barrier_start(); }, [&] { return j.world.barrier_init(); }, [] {},
         [] {});
    EXPECT(j.world.sync() == NCOLL_LOOSE);
    j.world.set_sync(NCOLL_STRICT);
    EXPECT(j.world.sync() == NCOLL_STRICT);
    int one = 1, sum = 0;
    j.world.allreduce(one, sum, ncoll::sum);
    EXPECT(sum == j.size);
    j.world.set_sync(NCOLL_LOOSE);
}

/* ---------------------------------------------------------------------- types, operations */

struct particle {
    double mass;
    std::int16_t kind;
};

void own_types(job &j)
{
    ncoll::type<particle> type = j.ctx.make_type<particle>("particle");
    EXPECT(j.ctx.type_size(type.number()) == sizeof(particle));
    EXPECT(ncoll::type_size(NCOLL_DOUBLE) == 8 && ncoll::type_size(type.number()) == 0);

    std::vector<particle> all(j.p);
    particle mine{j.rank + 0.5, static_cast<std::int16_t>(j.rank)};
    j.world.allgather({mine, type}, {all, type});
    for (std::size_t r = 0; r < j.p; r++)
        EXPECT(all[r].mass == static_cast<double>(r) + 0.5 && all[r].kind == static_cast<int>(r));

    /* The heaviest one; it catches by reference, since it lives as long as the context. */
    int called = 0;
    ncoll::op heavier = j.ctx.make_op<particle>(
        [&called](const particle &a, const particle &b) {
            called++;
            return a.mass < b.mass ? b : a;
        },
        NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT, "heavier");
    particle most{};
    j.world.allreduce({mine, type}, {most, type}, heavier);
    EXPECT(most.mass == j.size - 0.5 && (called > 0) == (j.size > 1));

    /* Products of 2 x 2 matrices do not commute. */
    using matrix = std::array<std::int64_t, 4>;
    ncoll::type<matrix> square = j.ctx.make_type<matrix>();
    auto multiply = [](const matrix &a, const matrix &b) {
        return matrix{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                      a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    };
    ncoll::op times = j.ctx.make_op<matrix>(multiply);
    auto of = [](std::int64_t r) { return matrix{1, r + 1, r % 2, 1}; };
    matrix a = of(j.rank), product{}, want = of(0);
    for (int r = 1; r < j.size; r++)
        want = multiply(want, of(r));
    j.world.allreduce(ncoll::const_buffer(&a, 1, square.number()),
                      ncoll::buffer(&product, 1, square.number()), times);
    EXPECT(product == want);

    ncoll::op add = j.ctx.make_op_with_inverse<std::int32_t>(
        [](std::int32_t x, std::int32_t y) { return x + y; },
        [](std::int32_t xy, std::int32_t y) { return xy - y; }, NCOLL_OP_COMMUTATIVE);
    std::int32_t x = j.rank, y = -1;
    j.world.allreduce(x, y, add);
    EXPECT(y == j.size * (j.size - 1) / 2);

    ncoll_op_def def{};
    def.size = sizeof def;
    def.combine = [](void *out, const void *left, const void *right, std::size_t n, ncoll_type,
                     void *) {
        for (std::size_t i = 0; i < n; i++)
            static_cast<float *>(out)[i] = (std::max)(static_cast<const float *>(left)[i],
                                                      static_cast<const float *>(right)[i]);
    };
    float f = static_cast<float>(j.rank), most_of_all = -1;
    j.world.allreduce(f, most_of_all, j.ctx.make_op(def, "most"));
    EXPECT(most_of_all == static_cast<float>(j.size - 1));
}

template <class T> void a_type(job &j)
{
    T one{1}, sum{};
    j.world.allreduce(one, sum, ncoll::sum);
    EXPECT(sum == static_cast<T>(j.size));
    static_assert(ncoll::type_of<T>::value != 0 && ncoll::type_of<const T>::value != 0);
    EXPECT(ncoll::type_size(ncoll::type_of<T>::value) == sizeof(T));
}

void built_in_types(job &j)
{
    a_type<char>(j);
    a_type<signed char>(j);
    a_type<unsigned char>(j);
    a_type<short>(j);
    a_type<unsigned short>(j);
    a_type<int>(j);
    a_type<unsigned>(j);
    a_type<long>(j);
    a_type<unsigned long>(j);
    a_type<long long>(j);
    a_type<unsigned long long>(j);
    a_type<float>(j);
    a_type<double>(j);
    a_type<long double>(j);

    std::complex<double> z(1, j.rank), zs;
    j.world.allreduce(z, zs, ncoll::sum);
    EXPECT(zs == std::complex<double>(j.size, j.size * (j.size - 1) / 2));
    std::complex<float> c(0, 1), cp;
    j.world.allreduce(c, cp, std::multiplies<>());
    EXPECT(std::abs(std::abs(cp) - 1) < 1e-6F);

    ncoll::half h{0x3c00}, hs{};
    ncoll::bfloat16 b{0x3f80}, bs{};
    j.world.allreduce(h, hs, ncoll::prod);
    j.world.allreduce(b, bs, ncoll::prod);
    EXPECT(hs.bits == 0x3c00 && bs.bits == 0x3f80);

    ncoll_double_int32 d{1.0 + j.rank, j.rank, 0}, dm{};
    j.world.allreduce(d, dm, ncoll::maxloc);
    EXPECT(dm.value == j.size && dm.index == j.size - 1);
    ncoll_int32_int32 i{j.rank, j.rank}, im{};
    j.world.allreduce(i, im, ncoll::minloc);
    EXPECT(im.value == 0 && im.index == 0);
    static_assert(ncoll::type_of<ncoll_int64_int64>::value == NCOLL_INT64_INT64 &&
                  ncoll::type_of<ncoll_float_int32>::value == NCOLL_FLOAT_INT32 &&
                  ncoll::type_of<ncoll_double_int64>::value == NCOLL_DOUBLE_INT64 &&
                  ncoll::type_of<std::byte>::value == NCOLL_UINT8 &&
                  ncoll::type_of<bool>::value == 0 && ncoll::type_of<particle>::value == 0);

    unsigned bits = 1U << j.rank, all = 0;
    j.world.allreduce(bits, all, std::bit_or<>());
    EXPECT(all == (1U << j.size) - 1);
    j.world.allreduce(bits, all, std::bit_and<>());
    EXPECT(all == (j.size == 1 ? 1U : 0U));
    j.world.allreduce(bits, all, std::bit_xor<>());
    EXPECT(all == (1U << j.size) - 1);
    j.world.allreduce(bits, all, std::logical_and<>());
    EXPECT(all == 1);
    j.world.allreduce(bits, all, std::logical_or<>());
    EXPECT(all == 1);
    EXPECT(ncoll::lxor.number() == NCOLL_LXOR && ncoll::land.number() == NCOLL_LAND &&
           ncoll::lor.number() == NCOLL_LOR && ncoll::band.number() == NCOLL_BAND &&
           ncoll::bor.number() == NCOLL_BOR && ncoll::bxor.number() == NCOLL_BXOR &&
           ncoll::min.number() == NCOLL_MIN);
    double r = 0.1, rs = 0;
    j.world.allreduce(r, rs, ncoll::sum_reproducible);
    EXPECT(std::abs(rs - 0.1 * j.size) < 1e-15);
}

/* Arrays, spans, strings, parts of them, in place. */
void buffers(job &j)
{
    int array[3] = {j.rank, 1, 2}, out[3];
    j.world.allreduce(array, out, ncoll::max);
    EXPECT(out[0] == j.size - 1 && out[2] == 2);
    std::array<int, 3> same{{j.rank, 1, 2}};
    j.world.allreduce(same, same, ncoll::min); /* in place */
    EXPECT(same[0] == 0 && same[1] == 1);
    std::string text = j.rank == 0 ? "to all" : "......";
    j.world.bcast(text, 0);
    EXPECT(text == "to all");
    std::vector<double> v(6, 1);
    j.world.allreduce(ncoll::span<const double>(v.data() + 2, 3),
                      ncoll::span<double>(v.data() + 2, 3), ncoll::sum);
    EXPECT(v[1] == 1 && v[2] == j.size && v[4] == j.size && v[5] == 1);
    std::vector<int> nothing;
    j.world.allreduce(nothing, nothing, ncoll::sum);

    static_assert(std::is_constructible_v<ncoll::const_buffer, const std::vector<int> &> &&
                  std::is_constructible_v<ncoll::const_buffer, std::string_view> &&
                  std::is_constructible_v<ncoll::const_buffer, ncoll::span<const int>> &&
                  !std::is_constructible_v<ncoll::const_buffer, std::vector<int>> &&
                  !std::is_constructible_v<ncoll::const_buffer, int> &&
                  !std::is_constructible_v<ncoll::const_buffer, particle &> &&
                  !std::is_constructible_v<ncoll::const_buffer, int *> &&
                  !std::is_constructible_v<ncoll::buffer, const std::vector<int> &> &&
                  !std::is_constructible_v<ncoll::buffer, const int &> &&
                  !std::is_constructible_v<ncoll::buffer, ncoll::span<const int>>);
}

/* ---------------------------------------------------------------------- groups, requests, memory
 */

void groups(job &j)
{
    ncoll::group half = j.world.split(j.rank % 2, -j.rank);
    EXPECT(half && half.size() == (j.size + 1 - j.rank % 2) / 2);
    EXPECT(half.world_rank(half.rank()) == j.rank);
    EXPECT(half.size() < 2 || half.world_rank(0) > half.world_rank(1));
    EXPECT(half.world_rank(half.size()) == -1);
    int x = 1, sum = 0;
    half.allreduce(x, sum, ncoll::sum);
    EXPECT(sum == half.size());

    ncoll::group none = j.world.split(j.rank == 0 ? 1 : NCOLL_NO_GROUP);
    EXPECT(static_cast<bool>(none) == (j.rank == 0));

    std::vector<int> list = {j.size - 1};
    ncoll::group last;
    while (!j.world.from_ranks(list, last, 1ms))
        ;
    EXPECT(static_cast<bool>(last) == (j.rank == j.size - 1));
    ncoll::group back = j.world.from_ranks(list);
    EXPECT(static_cast<bool>(back) == static_cast<bool>(last));

    ncoll::group copy, other = j.world.dup();
    while (!j.world.dup(copy, ncoll::test))
        ;
    ncoll::group split;
    while (!j.world.split(0, j.rank, split, 1ms))
        ;
    EXPECT(copy.size() == j.size && other.rank() == j.rank && split.rank() == j.rank);
    ncoll::group moved = std::move(copy);
    EXPECT(!copy && moved.size() == j.size); // NOLINT: that it is empty is what is tested
    EXPECT_THROWS(NCOLL_ERR_HANDLE, copy.barrier());
    moved.barrier();
    while (!moved.free(1ms))
        ;
    EXPECT(!moved);
    other.free();
    other.free(); /* again: nothing */
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.ctx.world().free());
    /* An assignment frees what was there, on all ranks, as a destructor does. */
    split = j.world.dup();
    split.barrier();
}

void several(job &j)
{
    std::vector<int> in(3, 1), out(3, 0);
    std::vector<ncoll::request> r;
    for (std::size_t i = 0; i < 3; i++)
        r.push_back(j.world.allreduce_start(ncoll::span<int>(&in[i], 1),
                                            ncoll::span<int>(&out[i], 1), ncoll::sum));
    ncoll::wait_all(r);
    EXPECT(out == std::vector<int>(3, j.size) && !r[0] && !r[2]);
    EXPECT(ncoll::wait_all(r, ncoll::test)); /* nothing is left */
    EXPECT(ncoll::wait_any(r) == NCOLL_NO_INDEX);

    std::vector<ncoll::request> many; /* more than the list has room for itself */
    for (int i = 0; i < 20; i++)
        many.push_back(j.world.barrier_start());
    std::size_t ended = 0;
    while (ended < 10) {
        std::optional<std::size_t> i = ncoll::wait_any(many, 1ms);
        if (!i)
            continue;
        EXPECT(*i < many.size() && !many[*i]);
        ended++;
    }
    std::vector<std::size_t> some;
    while (ended < many.size()) {
        if (!ncoll::wait_some(many, some, 1ms))
            continue;
        EXPECT(!some.empty());
        for (std::size_t i : some)
            EXPECT(!many[i]);
        ended += some.size();
    }
    ncoll::wait_some(many, some);
    EXPECT(some.empty());
    ncoll::wait_all({});

    /* Two are started and left to their owners: an assignment waits for the first one. */
    ncoll::request a = j.world.barrier_start();
    a = j.world.barrier_start();
    ncoll::request b = std::move(a);
    EXPECT(!a && b); // NOLINT
    b.wait();
    EXPECT_THROWS(NCOLL_ERR_HANDLE, b.start());
}

void memories(job &j)
{
    ncoll::memory<double> in = j.ctx.alloc<double>(5000), out = j.ctx.alloc<double>(5000);
    EXPECT(in.size() == 5000 && in[4999] == 0);
    std::fill(in.begin(), in.end(), 1);
    j.world.allreduce(in, out, ncoll::sum);
    EXPECT(out[0] == j.size && out[4999] == j.size);
    EXPECT(j.ctx.stats().user_bytes >= 80000);
    ncoll::memory<double> moved = std::move(in);
    EXPECT(moved.size() == 5000 && in.size() == 0); // NOLINT
    moved.free();
    EXPECT(moved.data() == nullptr);
    out = ncoll::memory<double>();
    EXPECT(j.ctx.stats().user_bytes == 0);
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.ctx.alloc<int>(0));

    std::vector<int> own(2000, 1);
    {
        ncoll::registration r = j.ctx.register_memory(ncoll::span<int>(own));
        EXPECT(j.ctx.stats().user_bytes > 0);
        EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.ctx.register_memory(own.data(), 16));
        ncoll::registration other = std::move(r);
        j.world.allreduce(own, own, ncoll::sum);
        other.end();
        other = j.ctx.register_memory(own.data(), 16);
    }
    EXPECT(own[1999] == j.size && j.ctx.stats().user_bytes == 0);
}

void context_calls(job &j)
{
    EXPECT(j.ctx.rank() == j.rank && j.ctx.size() == j.size && j.ctx);
    /* Until a barrier has gone on in one of these calls on every rank. One rank after the other is late,
     * so that the others have something to wait for. */
    int moved = 0, all_moved = j.size == 1;
    for (int i = 0; i < 10000 && !all_moved; i++) {
        if (i % j.size == j.rank)
            usleep(100);
        ncoll::request r = j.world.barrier_start();
        do
            moved |= j.ctx.progress_count() > 0;
        while (!r.test());
        j.world.allreduce(moved, all_moved, ncoll::min);
    }
    j.ctx.progress();
    EXPECT(all_moved);

    pollfd waiting{j.ctx.fd(), POLLIN, 0}; /* a barrier in a loop of the program's own */
    for (int i = 0; i < 20; i++) {
        ncoll::request b = j.world.barrier_start();
        while (!b.test())
            if (j.ctx.arm())
                EXPECT(poll(&waiting, 1, 60000) == 1);
    }
    EXPECT(j.ctx.stats().ranks == j.size);
    std::vector<std::uint64_t> begun, ended; /* hooks */
    j.ctx.set_hooks([&](const ncoll_call_info &call) { begun.push_back(call.id); },
                    [&](const ncoll_call_info &call, ncoll_status status) {
                        EXPECT(status == NCOLL_OK && std::string(call.name) == "barrier");
                        ended.push_back(call.id);
                    });
    j.world.barrier();
    j.world.barrier();
    EXPECT(begun.size() == 2 && begun == ended);
    j.ctx.set_hooks([](const ncoll_call_info &) { throw std::runtime_error("hook"); },
                    [](const ncoll_call_info &, ncoll_status) {});
    bool threw = false;
    try {
        j.world.barrier();
    } catch (const std::runtime_error &e) {
        threw = std::string(e.what()) == "hook";
    }
    EXPECT(threw);
    j.ctx.clear_hooks();
    j.world.barrier();
    EXPECT(begun.size() == 2);
    EXPECT(j.ctx.describe().find("rank") != std::string::npos);
    EXPECT(j.ctx.describe().back() != '\0');
    EXPECT(std::string(ncoll::version()).find('.') != std::string::npos);
    EXPECT(std::string(ncoll::status_text(NCOLL_OK)) == "success");
    std::vector<int> radices = {3, 2, 2};
    EXPECT(ncoll::radix_list(radices) == ncoll_radix_list(radices.data(), radices.size()));
    radices[0] = 17;
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, ncoll::radix_list(radices));
}

/* ---------------------------------------------------------------------- what goes wrong */

void wrong(job &j)
{
    std::vector<double> d(3);
    std::vector<float> f(3);
    std::vector<double> four_of_them(4);
    std::vector<std::size_t> few(j.p + 1, 1), counts(j.p, 1);

    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.allreduce(d, f, ncoll::sum));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.allreduce(d, four_of_them, ncoll::sum));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.allreduce(d, d, ncoll::band));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.bcast(d, j.size));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, (void)j.world.allgatherv_start(d, d, few));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.allgather(d, d.empty() ? d : four_of_them));
    std::vector<double> short_one(j.p - 1), none;
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.allgatherv(d, short_one, counts));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.reduce_scatter_block(d, four_of_them, ncoll::sum));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.alltoallv(short_one, counts, d, counts));
    if (j.size > 1)
        EXPECT_THROWS(NCOLL_ERR_ARGUMENT, j.world.alltoall(few, few));

    try {
        j.world.bcast(d, -1);
    } catch (const ncoll::error &e) {
        ncoll::error copy(e);
        EXPECT(copy.status() == NCOLL_ERR_ARGUMENT && copy.rank() == j.rank && copy.peer() == -1);
        EXPECT(*copy.cause() != '\0' &&
               std::string(copy.what()).find(copy.cause()) != std::string::npos);
        EXPECT(copy.index() == NCOLL_NO_INDEX && copy.native().status == copy.status());
        EXPECT(copy.remedy() != nullptr);
        EXPECT(j.ctx.last_error().status == NCOLL_ERR_ARGUMENT);
    }

    /* An operation that throws: the call that ends throws it, and the group can still be used. */
    ncoll::op bad = j.ctx.make_op<int>([](int, int) -> int { throw std::out_of_range("bad"); },
                                       NCOLL_OP_COMMUTATIVE);
    int x = 1, y = 0, threw = 0;
    try {
        j.world.allreduce(x, y, bad);
    } catch (const std::out_of_range &) {
        threw = 1;
    }
    int any = 0;
    j.world.allreduce(threw, any, ncoll::max);
    EXPECT(any == (j.size > 1 ? 1 : 0));
}

/* Time-outs of all kinds of durations. */
void time_outs()
{
    using namespace std::chrono;
    static_assert(ncoll::timeout(5ms).ns() == 5000000 && ncoll::timeout(-1s).ns() == 0);
    static_assert(ncoll::timeout(duration<double>(0.25)).ns() == 250000000);
    static_assert(ncoll::timeout(hours::max()).ns() == NCOLL_BLOCK && ncoll::test.ns() == 0);
    static_assert(ncoll::block.ns() == NCOLL_BLOCK);
    EXPECT(ncoll::timeout(duration<double>(std::numeric_limits<double>::infinity())).ns() ==
           NCOLL_BLOCK);
    EXPECT(ncoll::timeout::until(steady_clock::now() - 1s).ns() == 0);
    EXPECT(ncoll::timeout::until(steady_clock::now() + 1h).ns() > 3599000000000);
}

/* Handles outlive their context, in any order; and moved contexts go on. */
void lifetimes(const ncoll::params &params)
{
    ncoll::group left;
    ncoll::memory<int> memory;
    ncoll::registration registration;
    ncoll::request persistent;
    std::vector<int> own(4);
    int x = 1, y = 0;
    {
        ncoll::context first(params);
        ncoll::context ctx = std::move(first);
        EXPECT(ctx && !first); // NOLINT
        EXPECT_THROWS(NCOLL_ERR_HANDLE, first.world());
        left = ctx.world().dup();
        memory = ctx.alloc<int>(4);
        registration = ctx.register_memory(ncoll::span<int>(own));
        persistent = ctx.world().allreduce_init(x, y, ncoll::sum);
        persistent.start();
        persistent.wait();
        EXPECT(y == ctx.size());
    }
    EXPECT_THROWS(NCOLL_ERR_HANDLE, left.barrier());
    EXPECT_THROWS(NCOLL_ERR_HANDLE, left.free());
    EXPECT_THROWS(NCOLL_ERR_HANDLE, persistent.start());
    EXPECT_THROWS(NCOLL_ERR_HANDLE, memory.free());
}

int rank_main(const ncoll::params &given)
{
    std::atomic<int> logged{0};
    ncoll::params params(given);
    params.log_level = NCOLL_LOG_INFO;
    params.on_log([&logged](ncoll_log_level, const char *) { logged++; });
    {
        job j(params);
        EXPECT(logged > 0);
        barriers(j);
        reductions(j);
        movements(j);
        with_counts(j, false);
        with_counts(j, true);
        own_types(j);
        built_in_types(j);
        buffers(j);
        groups(j);
        several(j);
        memories(j);
        context_calls(j);
        wrong(j);
        j.world.barrier();
    }
    return failures;
}

/* A rank that unwinds its stack does not wait for others in the destructor of its group: it leaves,
 * and the others are told by name. */
int unwound(const ncoll::params &params)
{
    ncoll::context ctx(params);
    auto world = ctx.world();
    if (ctx.rank() == 0) {
        try {
            ncoll::group g = world.dup();
            throw std::runtime_error("of rank 0");
        } catch (const std::runtime_error &) {
            ctx.close();
            return 0;
        }
    }
    ncoll::group g = world.dup();
    try {
        g.barrier();
        return 1;
    } catch (const ncoll::error &e) {
        EXPECT(e.status() == NCOLL_ERR_PEER && e.peer() == 0);
    }
    return failures;
}

/* One rank finds the others by a function of its own: here there are none. */
void own_bootstrap()
{
    ncoll::params params;
    bool called = false;
    params.allgather_by(0, 1, [&called](const void *in, std::size_t bytes, void *out) {
        std::memcpy(out, in, bytes);
        called = true;
        return true;
    });
    ncoll::context ctx(params);
    EXPECT(called && ctx.size() == 1);

    ncoll::params bad;
    bad.log_level = NCOLL_LOG_NONE;
    bad.allgather_by(0, 1, [](const void *, std::size_t, void *) -> bool { throw 1; });
    EXPECT_THROWS(NCOLL_ERR_BOOTSTRAP, ncoll::context{bad});
    bad.transport = "pigeons";
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, ncoll::context{bad});

    ncoll_context *of_c = nullptr;
    EXPECT(ncoll_context_create(nullptr, &of_c, nullptr) == NCOLL_OK);
    ncoll::context taken(of_c);
    EXPECT(taken.native() == of_c && taken.size() == 1);
}

/* Ranks that are threads; one of them throws, and is given up. */
void threads()
{
    constexpr int ranks = 3, leaves = 1;
    ncoll::thread_board board(ranks);
    std::vector<int> sums(ranks), peers(ranks, -1);
    std::vector<std::thread> crew;

    for (int r = 0; r < ranks; r++)
        crew.emplace_back([r, &board, &sums, &peers] {
            ncoll::context ctx(board.of(r));
            std::vector<int> in{r + 1}, out(1);
            ctx.world().allreduce(in, out, ncoll::sum);
            sums[r] = out[0];
            if (r == leaves)
                return board.give_up(r);
            try {
                ncoll::context another(board.of(r));
            } catch (const ncoll::error &e) {
                peers[r] = e.peer();
            }
        });
    for (std::thread &t : crew)
        t.join();
    EXPECT(sums == std::vector<int>(ranks, 6));
    EXPECT(peers == (std::vector<int>{leaves, -1, leaves}));
    ncoll::thread_board moved(std::move(board));
    EXPECT(board.native() == nullptr && moved.native() != nullptr);
    EXPECT_THROWS(NCOLL_ERR_HANDLE, board.give_up(0));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, moved.give_up(ranks));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, ncoll::thread_board{0});
}

} // namespace

int main()
{
    time_outs();
    own_bootstrap();
    threads();
    for (int ranks : {1, 2, 4})
        expect_codes(ncoll::fork_ranks(ranks, rank_main), ranks);
    expect_codes(ncoll::fork_ranks(2,
                                   [](const ncoll::params &p) {
                                       lifetimes(p);
                                       return failures;
                                   }),
                 2);
    ncoll::params quiet;
    quiet.log_level = NCOLL_LOG_NONE;
    expect_codes(ncoll::fork_ranks(3, unwound, quiet), 3);

    std::vector<int> codes = ncoll::fork_ranks(2, [](const ncoll::params &p) -> int {
        if (p.rank == 1)
            throw std::runtime_error("this line is expected");
        return 0;
    });
    EXPECT(codes == (std::vector<int>{0, 1}));
    EXPECT_THROWS(NCOLL_ERR_ARGUMENT, ncoll::fork_ranks(0, unwound, quiet));
    std::printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
