/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same library from C++17: number, mean and variance of numbers that are spread over the ranks, in
 * one pass. The struct is a type of the program's own, and the lambda an operation on it. A time-out is
 * a value, an error is an exception, and what has a destructor needs no call to free it.
 */
#include <chrono>
#include <cmath>
#include <iostream>
#include <ncoll.hpp>
#include <vector>

using namespace std::chrono_literals;

struct moments {
    double n, mean, sum_of_squares; /* of differences from the mean */
};

/* Chan, Golub and LeVeque, 1979: the moments of two sets together, without their numbers. */
static moments together(const moments &a, const moments &b)
{
    double n = a.n + b.n, d = b.mean - a.mean;

    if (n == 0)
        return a;
    return {n, a.mean + d * b.n / n, a.sum_of_squares + b.sum_of_squares + d * d * a.n * b.n / n};
}

static void describe(const ncoll::context &job, const moments &m)
{
    if (job.rank() == 0)
        std::cout << job.size() << " ranks: " << m.n << " numbers, mean " << m.mean << ", variance "
                  << m.sum_of_squares / m.n << std::endl;
}

int main()
{
    try {
        ncoll::context job;
        ncoll::group world = job.world();
        ncoll::type<moments> type = job.make_type<moments>("moments");
        ncoll::op merge = job.make_op<moments>(together, NCOLL_OP_COMMUTATIVE, "merge");

        /* Rank 0 says how many numbers there are; a variable is a buffer of one element. */
        int count = job.rank() == 0 ? 100 : 0;
        world.bcast(count, 0);

        moments mine{}, all{};
        for (int i = job.rank(); i < count; i += job.size())
            mine = together(mine, {1, static_cast<double>(i), 0});

        /* A request ends before its buffers do: its destructor would wait for it. */
        ncoll::request sum = world.allreduce_start({mine, type}, {all, type}, merge);
        while (!sum.wait(1s))
            std::cerr << job.last_error().text << std::endl;
        describe(job, all);

        /* The blocks of a gather lie in a vector, whose length has to be right. */
        std::vector<double> means(job.rank() == 0 ? static_cast<std::size_t>(job.size()) : 0);
        world.gather(mine.mean, means, 0);
        for (double mean : means)
            if (mean < 0 || mean >= count)
                return 1;
        return all.n == count && std::abs(all.mean - (count - 1) / 2.0) < 1e-9 ? 0 : 1;
    } catch (const ncoll::error &e) {
        std::cerr << e.what()
                  << std::endl; /* the rank that it is about, the cause and the remedy */
        return 1;
    }
}
