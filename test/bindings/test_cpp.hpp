/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests in C++ share: counted checks that go on after a failure. */
#ifndef NCOLL_TEST_CPP_HPP
#define NCOLL_TEST_CPP_HPP

#include "ncoll.hpp"

#include <cstdio>
#include <vector>

inline int failures, checks;

inline void expect(bool good, const char *file, int line, const char *what)
{
    checks++;
    if (good)
        return;
    failures++;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
}

#define EXPECT(...) expect(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)

/* That an expression throws ncoll::error with this status. */
#define EXPECT_THROWS(expected, ...)                                                               \
    do {                                                                                           \
        int status_ = NCOLL_OK;                                                                    \
        try {                                                                                      \
            (void)(__VA_ARGS__);                                                                   \
        } catch (const ncoll::error &e_) {                                                         \
            status_ = e_.status();                                                                 \
        }                                                                                          \
        expect(status_ == (expected), __FILE__, __LINE__, #__VA_ARGS__ " throws " #expected);      \
    } while (0)

/* Forked ranks end with their number of failures. */
inline void expect_codes(const std::vector<int> &codes, int ranks)
{
    EXPECT(codes.size() == static_cast<std::size_t>(ranks));
    for (int code : codes)
        EXPECT(code == 0);
}

#endif
