/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ncoll for C++17 and later: ncoll.h with owners, buffers that know their length and type, chrono
 * time-outs, functions as operations, and exceptions. There is nothing to link besides libncoll.
 *
 *     ncoll::context job;
 *     auto world = job.world();
 *     std::vector<double> mine(1000, 1.0), sum(1000);
 *     world.allreduce(mine, sum, ncoll::sum);
 *     while (!world.barrier(10ms))
 *         do_something_else();
 *
 * ncoll.h describes what a call does, when buffers may be used again, and which calls threads may
 * make at the same time; this header describes only the differences.
 *
 * Time-outs. Each collective has a form without a time-out, which waits as long as it takes, and a
 * form with a time-out as its last argument. The form with a time-out returns true when the call is
 * done. It returns false after the time-out: nothing is lost, and the same call with the same
 * arguments goes on.
 *
 * Errors are exceptions of class ncoll::error. A time-out never is one.
 *
 * Owners. context, group, request, memory and registration can be moved, and not copied. Objects
 * that still exist when their context is closed are then invalid: their calls throw
 * NCOLL_ERR_HANDLE, and their destructors do nothing. So these objects may be destroyed in any
 * order. Two destructors wait for other ranks: that of an unfinished request, since its buffers are
 * in use; and that of a group, which is the last collective of the group on all its ranks, like
 * group::free(). While an exception unwinds the stack, a group is left to its context instead.
 *
 * Messages do not depend on the header: ranks that use this header work with ranks that use
 * ncoll.h.
 */
#ifndef NCOLL_HPP
#define NCOLL_HPP

#include "ncoll.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <ranges>
#include <span>
#endif

namespace ncoll
{

/* ------------------------------------------------------------------ span --------------------- */

#ifdef __cpp_lib_span
template <class T> using span = std::span<T>;
#else
/** The part of std::span that this header needs, where the standard library has none. */
template <class T> class span
{
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T *first, std::size_t n) noexcept : data_(first), size_(n) {}
    /** Makes a span of an array, or of anything that std::data() and std::size() take. */
    template <class R, class E = std::remove_pointer_t<decltype(std::data(std::declval<R &>()))>,
              class = std::enable_if_t<std::is_convertible_v<E (*)[], T (*)[]> &&
                                       (std::is_lvalue_reference_v<R> || std::is_const_v<T>)>>
    constexpr span(R &&range) : data_(std::data(range)), size_(std::size(range))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr span subspan(std::size_t from, std::size_t n) const { return span(data_ + from, n); }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/* ------------------------------------------------------------------ errors ------------------- */

/** An error of a call: ncoll_error as an exception. what() is its text in one line. */
class error : public std::runtime_error
{
  public:
    explicit error(const ncoll_error &e, std::size_t index = NCOLL_NO_INDEX)
        : std::runtime_error(e.text), error_(std::make_shared<const ncoll_error>(e)), index_(index)
    {
    }
    /** An error that this header has found. */
    error(ncoll_status status, const std::string &cause, const std::string &remedy)
        : error(make(status, cause, remedy))
    {
    }

    ncoll_status status() const noexcept { return error_->status; }
    /** The reason: one of the constants of NCOLL_REASON_MAP. */
    ncoll_reason reason() const noexcept { return error_->reason; }
    /** World rank that reports the error; -1: not known. */
    int rank() const noexcept { return error_->rank; }
    /** World rank that the error is about; -1: about none. */
    int peer() const noexcept { return error_->peer; }
    /** The cause: what happened, and where. */
    const char *cause() const noexcept { return error_->cause; }
    /** The remedy: what to do about it. */
    const char *remedy() const noexcept { return error_->remedy; }
    /** Index of the request that has failed, in wait_all(), wait_any() and wait_some();
     * NCOLL_NO_INDEX: none. */
    std::size_t index() const noexcept { return index_; }
    /** The whole ncoll_error. */
    const ncoll_error &native() const noexcept { return *error_; }

  private:
    static ncoll_error make(ncoll_status status, const std::string &cause,
                            const std::string &remedy)
    {
        ncoll_error e{};

        e.status = status;
        e.rank = e.peer = -1;
        e.reason = NCOLL_REASON_BAD_ARGUMENT;
        std::snprintf(e.cause, sizeof e.cause, "%s", cause.c_str());
        std::snprintf(e.remedy, sizeof e.remedy, "%s", remedy.c_str());
        std::snprintf(e.text, sizeof e.text, "%s: %s%s%s", ncoll_status_text(status), e.cause,
                      remedy.empty() ? "" : "; ", e.remedy);
        return e;
    }

    std::shared_ptr<const ncoll_error> error_; /* shared, so that a copy cannot throw */
    std::size_t index_;
};

/** Returns the text of a status. */
inline const char *status_text(int status) noexcept
{
    return ncoll_status_text(status);
}

/** The text of a reason, "unknown reason" for any other number. */
inline const char *reason_text(int reason) noexcept
{
    return ncoll_reason_text(reason);
}

/** The name of a reason, as "NCOLL_REASON_PEER_DIED". */
inline const char *reason_name(int reason) noexcept
{
    return ncoll_reason_name(reason);
}

/** Returns the version of the library in use. */
inline const char *version() noexcept
{
    return ncoll_version();
}

namespace detail
{

[[noreturn]] inline void refuse(const std::string &cause, const std::string &remedy)
{
    throw error(NCOLL_ERR_ARGUMENT, cause, remedy);
}

/** Throws if the status is not NCOLL_OK. For calls without a context: the exception has no cause
 * and no remedy. */
inline void check(int status)
{
    if (status != NCOLL_OK)
        throw error(static_cast<ncoll_status>(status), "", "");
}

/**
 * The state that the handles of a context share. The state lives until the last handle is gone, so
 * that handles can see that their context is closed.
 */
struct state {
    ncoll_context *ctx = nullptr;
    std::vector<std::shared_ptr<void>> kept; /**< functions that the library calls */
    std::exception_ptr thrown;               /**< exception that such a function has thrown */

    void open() const
    {
        if (ctx == nullptr)
            throw error(NCOLL_ERR_HANDLE, "its context is closed, or it was moved from",
                        "keep the context until its groups, requests and memory are done with");
    }

    [[noreturn]] void fail(int status, std::size_t index) const
    {
        const ncoll_error *last = ncoll_last_error(ctx);

        if (last->status == status)
            throw error(*last, index);
        throw error(static_cast<ncoll_status>(status), "", "");
    }

    /** Returns true for NCOLL_OK, and false for NCOLL_TIMEOUT. Throws for any other status. */
    bool done(int status, std::size_t index = NCOLL_NO_INDEX)
    {
        if (status == NCOLL_TIMEOUT)
            return false;
        if (thrown)
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if (status != NCOLL_OK)
            fail(status, index);
        return true;
    }

    void close() noexcept
    {
        if (ctx != nullptr)
            ncoll_context_destroy(std::exchange(ctx, nullptr));
    }
};

using shared = std::shared_ptr<state>;

/** Function objects as hooks. An exception of theirs is kept, and the next call that ends throws
 * it. */
template <class B, class E> struct hook_functions {
    B begin_;
    E end_;
    state *state_;

    static void *begin(const ncoll_call_info *call, void *user) noexcept
    {
        auto *own = static_cast<hook_functions *>(user);
        own->run([&] { own->begin_(*call); });
        return nullptr;
    }
    static void end(const ncoll_call_info *call, int status, void *, void *user) noexcept
    {
        auto *own = static_cast<hook_functions *>(user);
        own->run([&] { own->end_(*call, static_cast<ncoll_status>(status)); });
    }
    template <class F> void run(F f) noexcept
    {
        try {
            f();
        } catch (...) {
            if (!state_->thrown)
                state_->thrown = std::current_exception();
        }
    }
};

/** Returns the state of a handle if its context is open; throws otherwise. */
inline state &of(const shared &s)
{
    if (s == nullptr)
        throw error(NCOLL_ERR_HANDLE, "it is empty: it was moved from, freed or never made", "");
    s->open();
    return *s;
}

} // namespace detail

/* ------------------------------------------------------------------ time-outs ---------------- */

/** A time-out: any std::chrono::duration, block or test. A negative one counts as 0. */
class timeout
{
  public:
    template <class Rep, class Period>
    constexpr timeout(std::chrono::duration<Rep, Period> d) noexcept : ns_(whole(d))
    {
    }
    constexpr std::int64_t ns() const noexcept { return ns_; }
    /** The time from now until the time `then`, for loops with a deadline. */
    template <class Duration>
    static timeout until(std::chrono::time_point<std::chrono::steady_clock, Duration> then)
    {
        return timeout(then - std::chrono::steady_clock::now());
    }

  private:
    template <class Rep, class Period>
    static constexpr std::int64_t whole(std::chrono::duration<Rep, Period> d) noexcept
    {
        /* Converts to double first, since hours::max() in nanoseconds does not fit. */
        auto roughly = std::chrono::duration<double, std::nano>(d).count();

        if (!(roughly > 0))
            return 0;
        if (roughly >= 9.2e18)
            return NCOLL_BLOCK;
        return static_cast<std::int64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(d).count());
    }

    std::int64_t ns_;
};

/** Waits as long as it takes. */
inline constexpr timeout block{std::chrono::hours::max()};
/** Does what can be done now, and does not wait. */
inline constexpr timeout test{std::chrono::nanoseconds::zero()};

/* ------------------------------------------------------------------ types -------------------- */

/** IEEE 754 binary16, by its bits. */
struct half {
    std::uint16_t bits;
};
/** The upper half of a float, by its bits. */
struct bfloat16 {
    std::uint16_t bits;
};

namespace detail
{

template <class T> constexpr ncoll_type integer_type()
{
    constexpr bool is_signed = std::is_signed_v<T>;

    switch (sizeof(T)) {
    case 1:
        return is_signed ? NCOLL_INT8 : NCOLL_UINT8;
    case 2:
        return is_signed ? NCOLL_INT16 : NCOLL_UINT16;
    case 4:
        return is_signed ? NCOLL_INT32 : NCOLL_UINT32;
    case 8:
        return is_signed ? NCOLL_INT64 : NCOLL_UINT64;
    default:
        return 0;
    }
}

template <class T> constexpr ncoll_type defined_type()
{
    if constexpr (std::is_same_v<T, bool>)
        return 0; /* a sum of two bools would be no bool */
    else if constexpr (std::is_integral_v<T>)
        return integer_type<T>();
    else if constexpr (std::is_same_v<T, std::byte>)
        return NCOLL_UINT8;
    else if constexpr (std::is_same_v<T, float>)
        return NCOLL_FLOAT;
    else if constexpr (std::is_same_v<T, double>)
        return NCOLL_DOUBLE;
    else if constexpr (std::is_same_v<T, long double>)
        return NCOLL_LONG_DOUBLE;
    else if constexpr (std::is_same_v<T, half>)
        return NCOLL_HALF;
    else if constexpr (std::is_same_v<T, bfloat16>)
        return NCOLL_BFLOAT16;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return NCOLL_COMPLEX_FLOAT;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return NCOLL_COMPLEX_DOUBLE;
    else if constexpr (std::is_same_v<T, ncoll_int32_int32>)
        return NCOLL_INT32_INT32;
    else if constexpr (std::is_same_v<T, ncoll_int64_int64>)
        return NCOLL_INT64_INT64;
    else if constexpr (std::is_same_v<T, ncoll_float_int32>)
        return NCOLL_FLOAT_INT32;
    else if constexpr (std::is_same_v<T, ncoll_double_int32>)
        return NCOLL_DOUBLE_INT32;
    else if constexpr (std::is_same_v<T, ncoll_double_int64>)
        return NCOLL_DOUBLE_INT64;
    else
        return 0;
}

} // namespace detail

/**
 * The ncoll_type of a C++ type; 0: the C++ type has none. A program may specialise this for a type
 * that has the layout of one of ncoll's types, such as the half type of its compiler.
 */
template <class T>
struct type_of : std::integral_constant<ncoll_type, detail::defined_type<std::remove_cv_t<T>>()> {
};

/** The size in bytes of a type that the library has defined; 0 for any other. */
inline std::size_t type_size(ncoll_type type) noexcept
{
    return ncoll_type_size(type);
}

/** A type of the program's own: elements T of one context; see context::make_type(). */
template <class T> class type
{
  public:
    constexpr explicit type(ncoll_type number) noexcept : number_(number) {}
    constexpr ncoll_type number() const noexcept { return number_; }

  private:
    ncoll_type number_;
};

/* ------------------------------------------------------------------ buffers ------------------ */

namespace detail
{

template <class R, class = void> struct element_of {
    using type = void;
};
template <class R>
struct element_of<R, std::void_t<decltype(std::data(std::declval<R &>())),
                                 decltype(std::size(std::declval<R &>()))>> {
    using type = std::remove_pointer_t<decltype(std::data(std::declval<R &>()))>;
};
/** Element type of a range whose elements lie in memory one after the other; void: R is no such
 * range. */
template <class R> using element_t = typename element_of<std::remove_reference_t<R>>::type;

template <class R> struct is_view : std::false_type {
};
template <class T> struct is_view<span<T>> : std::true_type {
};
template <class C, class Traits>
struct is_view<std::basic_string_view<C, Traits>> : std::true_type {
};
/** True if the elements of a range R outlive the expression that makes the range; the elements of a
 * temporary vector do not. */
template <class R>
inline constexpr bool outlives =
    std::is_lvalue_reference_v<R> || is_view<std::remove_cv_t<std::remove_reference_t<R>>>::value
#ifdef __cpp_lib_span
    || std::ranges::borrowed_range<R>
#endif
    ;

template <class T> inline constexpr bool has_type = type_of<T>::value != 0;
template <> inline constexpr bool has_type<void> = false;
template <> inline constexpr bool has_type<const void> = false;

template <class R, class T>
inline constexpr bool is_range_of = std::is_same_v<std::remove_cv_t<element_t<R>>, T>;

} // namespace detail

/**
 * The input of a call: elements, their number and type. It is made of a variable, of an array,
 * or of anything in memory that std::data() and std::size() take; of a temporary only if that is a
 * view.
 * `{}` stands for a buffer that a rank does not need.
 */
class const_buffer
{
  public:
    constexpr const_buffer() noexcept = default;
    constexpr const_buffer(const void *first, std::size_t n, ncoll_type t) noexcept
        : data_(first), size_(n), type_(t)
    {
    }
    template <class R, std::enable_if_t<
                           detail::has_type<detail::element_t<R>> && detail::outlives<R>, int> = 0>
    constexpr const_buffer(R &&range)
        : const_buffer(std::data(range), std::size(range), type_of<detail::element_t<R>>::value)
    {
    }
    template <class T, std::enable_if_t<detail::has_type<T>, int> = 0>
    constexpr const_buffer(T &x) noexcept : const_buffer(&x, 1, type_of<T>::value)
    {
    }
    /** Elements of a type of the program's own. */
    template <class R, class T,
              std::enable_if_t<detail::is_range_of<R, T> && detail::outlives<R>, int> = 0>
    constexpr const_buffer(R &&range, type<T> t)
        : const_buffer(std::data(range), std::size(range), t.number())
    {
    }
    template <class T>
    constexpr const_buffer(const T &x, type<T> t) noexcept : const_buffer(&x, 1, t.number())
    {
    }

    constexpr const void *data() const noexcept { return data_; }
    /** Number of elements. */
    constexpr std::size_t size() const noexcept { return size_; }
    /** Number of the element type; 0: there is no buffer. */
    constexpr ncoll_type type_number() const noexcept { return type_; }

  private:
    const void *data_ = nullptr;
    std::size_t size_ = 0;
    ncoll_type type_ = 0;
};

/** The output of a call. It is made as a const_buffer is, of elements that are not const. */
class buffer
{
  public:
    constexpr buffer() noexcept = default;
    constexpr buffer(void *first, std::size_t n, ncoll_type t) noexcept
        : data_(first), size_(n), type_(t)
    {
    }
    template <class R,
              std::enable_if_t<detail::has_type<detail::element_t<R>> &&
                                   !std::is_const_v<detail::element_t<R>> && detail::outlives<R>,
                               int> = 0>
    constexpr buffer(R &&range)
        : buffer(std::data(range), std::size(range), type_of<detail::element_t<R>>::value)
    {
    }
    template <class T, std::enable_if_t<detail::has_type<T> && !std::is_const_v<T>, int> = 0>
    constexpr buffer(T &x) noexcept : buffer(&x, 1, type_of<T>::value)
    {
    }
    /** Elements of a type of the program's own. */
    template <class R, class T,
              std::enable_if_t<detail::is_range_of<R, T> &&
                                   !std::is_const_v<detail::element_t<R>> && detail::outlives<R>,
                               int> = 0>
    constexpr buffer(R &&range, type<T> t) : buffer(std::data(range), std::size(range), t.number())
    {
    }
    template <class T> constexpr buffer(T &x, type<T> t) noexcept : buffer(&x, 1, t.number()) {}

    constexpr operator const_buffer() const noexcept { return {data_, size_, type_}; }
    constexpr void *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr ncoll_type type_number() const noexcept { return type_; }

  private:
    void *data_ = nullptr;
    std::size_t size_ = 0;
    ncoll_type type_ = 0;
};

/* ------------------------------------------------------------------ operations --------------- */

/**
 * An operation of a reduction: one of the constants below, a function object of <functional>, or
 * what context::make_op() has made.
 */
class op
{
  public:
    constexpr explicit op(ncoll_op number) noexcept : number_(number) {}
    template <class T> constexpr op(std::plus<T>) noexcept : op(ncoll_op{NCOLL_SUM}) {}
    template <class T> constexpr op(std::multiplies<T>) noexcept : op(ncoll_op{NCOLL_PROD}) {}
    template <class T> constexpr op(std::logical_and<T>) noexcept : op(ncoll_op{NCOLL_LAND}) {}
    template <class T> constexpr op(std::logical_or<T>) noexcept : op(ncoll_op{NCOLL_LOR}) {}
    template <class T> constexpr op(std::bit_and<T>) noexcept : op(ncoll_op{NCOLL_BAND}) {}
    template <class T> constexpr op(std::bit_or<T>) noexcept : op(ncoll_op{NCOLL_BOR}) {}
    template <class T> constexpr op(std::bit_xor<T>) noexcept : op(ncoll_op{NCOLL_BXOR}) {}
    constexpr ncoll_op number() const noexcept { return number_; }

  private:
    ncoll_op number_;
};

inline constexpr op sum{NCOLL_SUM};
inline constexpr op prod{NCOLL_PROD};
inline constexpr op min{NCOLL_MIN};
inline constexpr op max{NCOLL_MAX};
inline constexpr op land{NCOLL_LAND};
inline constexpr op lor{NCOLL_LOR};
inline constexpr op lxor{NCOLL_LXOR};
inline constexpr op band{NCOLL_BAND};
inline constexpr op bor{NCOLL_BOR};
inline constexpr op bxor{NCOLL_BXOR};
inline constexpr op minloc{NCOLL_MINLOC};
inline constexpr op maxloc{NCOLL_MAXLOC};
inline constexpr op sum_reproducible{NCOLL_SUM_REPRODUCIBLE};

namespace detail
{

/** Stands for the inverse of an operation that has no inverse. */
struct none {
};

/** Functions on elements T that ncoll calls as an operation: F(a, b), and G(a op b, b) for its
 * inverse. */
template <class T, class F, class G> struct functions {
    F combine_;
    G inverse_;
    state *owner;

    /* Elements in the library's memory may be less aligned than a T, so each one is copied. */
    template <class H>
    void apply(H &h, void *out, const void *left, const void *right, std::size_t n) noexcept
    {
        auto *o = static_cast<unsigned char *>(out);
        auto *l = static_cast<const unsigned char *>(left);
        auto *r = static_cast<const unsigned char *>(right);

        try {
            for (std::size_t i = 0; i < n * sizeof(T); i += sizeof(T)) {
                T a, b;

                std::memcpy(&a, l + i, sizeof(T));
                std::memcpy(&b, r + i, sizeof(T));
                T c = h(static_cast<const T &>(a), static_cast<const T &>(b));
                std::memcpy(o + i, &c, sizeof(T));
            }
        } catch (...) {
            /* No exception may pass through the library, which is C: the call that ends next throws
             * it. */
            if (!owner->thrown)
                owner->thrown = std::current_exception();
        }
    }

    static void combine(void *out, const void *left, const void *right, std::size_t n, ncoll_type,
                        void *arg)
    {
        auto *self = static_cast<functions *>(arg);
        self->apply(self->combine_, out, left, right, n);
    }

    static void inverse(void *out, const void *left, const void *right, std::size_t n, ncoll_type,
                        void *arg)
    {
        auto *self = static_cast<functions *>(arg);
        self->apply(self->inverse_, out, left, right, n);
    }
};

} // namespace detail

/* ------------------------------------------------------------------ requests ----------------- */

/**
 * A started collective, or a persistent request. The buffers must live until the request is over.
 * The destructor of an unfinished request waits for its end; so does moving another request to an
 * unfinished one.
 */
class request
{
  public:
    request() noexcept = default;
    request(request &&other) noexcept
        : state_(std::move(other.state_)), request_(std::exchange(other.request_, nullptr)),
          persistent_(other.persistent_)
    {
    }
    request &operator=(request &&other) noexcept
    {
        if (this != &other) {
            finish();
            state_ = std::move(other.state_);
            request_ = std::exchange(other.request_, nullptr);
            persistent_ = other.persistent_;
        }
        return *this;
    }
    ~request() { finish(); }

    /** Starts a persistent request. */
    void start() { live().done(ncoll_start(request_)); }
    /** Waits for the end of the request. A request that is over, and a persistent one that is not
     * started, count as finished.
     */
    void wait() { (void)wait(block); }
    [[nodiscard]] bool wait(timeout t)
    {
        return request_ == nullptr || live().done(ncoll_wait(&request_, t.ns()));
    }
    /** Returns true if the request has ended. Makes progress, and does not wait. */
    [[nodiscard]] bool test() { return request_ == nullptr || live().done(ncoll_test(&request_)); }
    /** Frees a persistent request that is not started or has ended. */
    void free()
    {
        if (request_ != nullptr)
            live().done(ncoll_request_free(&request_));
    }
    /** True if there is a request: a persistent one, or one that is not over. */
    explicit operator bool() const noexcept { return request_ != nullptr; }
    bool persistent() const noexcept { return persistent_; }
    ncoll_request *native() const noexcept { return request_; }

    /** Takes over a request that a call of ncoll.h has made on this context. */
    request(detail::shared state, ncoll_request *r, bool persistent) noexcept
        : state_(std::move(state)), request_(r), persistent_(persistent)
    {
    }

  private:
    friend class request_list;

    detail::state &live() const
    {
        detail::state &s = detail::of(state_);
        if (request_ == nullptr)
            throw error(NCOLL_ERR_HANDLE, "the request is over", "");
        return s;
    }

    void finish() noexcept
    {
        if (request_ == nullptr || state_ == nullptr || state_->ctx == nullptr)
            return;
        (void)ncoll_wait(&request_, NCOLL_BLOCK);
        if (request_ != nullptr)
            (void)ncoll_request_free(&request_);
        request_ = nullptr;
    }

    detail::shared state_;
    ncoll_request *request_ = nullptr;
    bool persistent_ = false;
};

/** The native requests of an array, for the time in which a call waits for them. */
class request_list
{
  public:
    explicit request_list(span<request> all) : all_(all)
    {
        if (all.size() > few_.size())
            many_.resize(all.size());
        first_ = many_.empty() ? few_.data() : many_.data();
        for (std::size_t i = 0; i < all.size(); i++) {
            first_[i] = all[i].request_;
            if (first_[i] != nullptr)
                state_ = &detail::of(all[i].state_);
        }
    }
    request_list(const request_list &) = delete;
    request_list &operator=(const request_list &) = delete;
    ~request_list()
    {
        for (std::size_t i = 0; i < all_.size(); i++)
            all_[i].request_ = first_[i];
    }

    ncoll_request **data() const noexcept { return first_; }
    std::size_t size() const noexcept { return all_.size(); }
    bool done(int status, std::size_t index)
    {
        if (state_ != nullptr)
            return state_->done(status, index);
        detail::check(status);
        return true;
    }

  private:
    span<request> all_;
    std::array<ncoll_request *, 16> few_{};
    std::vector<ncoll_request *> many_;
    ncoll_request **first_;
    detail::state *state_ = nullptr;
};

/** Waits for all requests of an array, of one context; see ncoll_wait_all(). The index() of the
 * error is that of the request that has failed. */
[[nodiscard]] inline bool wait_all(span<request> requests, timeout t)
{
    request_list list(requests);
    std::size_t failed = NCOLL_NO_INDEX;
    int status = ncoll_wait_all(list.data(), list.size(), &failed, t.ns());

    return list.done(status, failed);
}
inline void wait_all(span<request> requests)
{
    (void)wait_all(requests, block);
}

/** Waits for one request of an array, and returns its index; NCOLL_NO_INDEX if none is started, and
 * no value after a time-out. See ncoll_wait_any(). */
[[nodiscard]] inline std::optional<std::size_t> wait_any(span<request> requests, timeout t)
{
    request_list list(requests);
    std::size_t index = NCOLL_NO_INDEX;
    int status = ncoll_wait_any(list.data(), list.size(), &index, t.ns());

    if (list.done(status, index))
        return index;
    return std::nullopt;
}
[[nodiscard]] inline std::size_t wait_any(span<request> requests)
{
    return wait_any(requests, block).value_or(NCOLL_NO_INDEX);
}

/** Waits until some requests of an array are done, and puts their indices into `ended`, also if an
 * exception tells that the last of these has failed. See ncoll_wait_some(). */
[[nodiscard]] inline bool wait_some(span<request> requests, std::vector<std::size_t> &ended,
                                    timeout t)
{
    request_list list(requests);
    std::size_t n = 0;

    ended.resize(requests.size());
    int status = ncoll_wait_some(list.data(), list.size(), ended.data(), &n, t.ns());
    ended.resize(n);
    return list.done(status, n == 0 ? NCOLL_NO_INDEX : ended.back());
}
inline void wait_some(span<request> requests, std::vector<std::size_t> &ended)
{
    (void)wait_some(requests, ended, block);
}

/* ------------------------------------------------------------------ groups ------------------- */

/**
 * An ordered set of ranks, and its collectives. Each collective exists in four forms: a form that
 * waits; a form with a time-out; _start(), which makes a request; _init(), which makes a persistent
 * request. If the buffers of a call do not fit each other in number or type of elements, the call
 * throws NCOLL_ERR_ARGUMENT before anything is sent. `{}` stands for a buffer that this rank does
 * not need.
 */
class group
{
  public:
    group() noexcept = default;
    group(group &&other) noexcept
        : state_(std::move(other.state_)), group_(std::exchange(other.group_, nullptr)),
          owned_(other.owned_), unwinding_(other.unwinding_)
    {
    }
    group &operator=(group &&other) noexcept
    {
        if (this != &other) {
            leave();
            state_ = std::move(other.state_);
            group_ = std::exchange(other.group_, nullptr);
            owned_ = other.owned_;
            unwinding_ = other.unwinding_;
        }
        return *this;
    }
    ~group() { leave(); }

    /** Takes over a group that a call of ncoll.h has made; `owned`: the destructor frees the
     * group. */
    group(detail::shared state, ncoll_group *g, bool owned)
        : state_(std::move(state)), group_(g), owned_(owned), unwinding_(std::uncaught_exceptions())
    {
    }

    int rank() const { return ncoll_group_rank(handle()); }
    int size() const { return ncoll_group_size(handle()); }
    /** World rank of a rank of the group; -1: the group has no such rank. */
    int world_rank(int rank) const { return ncoll_group_world_rank(handle(), rank); }
    /** False on ranks that are not in the group that a call has made. */
    explicit operator bool() const noexcept { return group_ != nullptr; }
    ncoll_group *native() const noexcept { return group_; }
    const detail::shared &state() const noexcept { return state_; }

    /* Calls that make new groups, each a collective of this group; see ncoll_group_split(). The
     * forms with a time-out set `made` when they return true. */

    [[nodiscard]] group split(int color, int key = 0)
    {
        group made;
        (void)split(color, key, made, block);
        return made;
    }
    [[nodiscard]] bool split(int color, int key, group &made, timeout t)
    {
        return make(ncoll_group_split, made, t, color, key);
    }
    [[nodiscard]] group from_ranks(span<const int> ranks)
    {
        group made;
        (void)from_ranks(ranks, made, block);
        return made;
    }
    [[nodiscard]] bool from_ranks(span<const int> ranks, group &made, timeout t)
    {
        return make(ncoll_group_from_ranks, made, t, ranks.data(), static_cast<int>(ranks.size()));
    }
    [[nodiscard]] group dup()
    {
        group made;
        (void)dup(made, block);
        return made;
    }
    [[nodiscard]] bool dup(group &made, timeout t) { return make(ncoll_group_dup, made, t); }

    /** Frees the group. This is the last collective of the group, on all its ranks. */
    void free() { (void)free(block); }
    [[nodiscard]] bool free(timeout t)
    {
        return group_ == nullptr || detail::of(state_).done(ncoll_group_free(&group_, t.ns()));
    }

    /** Sets the mode of synchronisation: NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT or
     * NCOLL_STRICT; see ncoll_group_set_sync(). */
    void set_sync(unsigned sync) { check(ncoll_group_set_sync(handle(), sync)); }
    unsigned sync() const { return static_cast<unsigned>(ncoll_group_sync(handle())); }

    /* ---- barrier */

    void barrier() { (void)barrier(block); }
    [[nodiscard]] bool barrier(timeout t) { return run(ncoll_barrier, t); }
    [[nodiscard]] request barrier_start() { return begin(ncoll_barrier_start); }
    [[nodiscard]] request barrier_init() { return prepare(ncoll_barrier_init); }

    /* ---- allreduce, reduce, bcast */

    void allreduce(const_buffer in, buffer out, op o) { (void)allreduce(in, out, o, block); }
    [[nodiscard]] bool allreduce(const_buffer in, buffer out, op o, timeout t)
    {
        same(in, out, 1);
        return run(ncoll_allreduce, t, in.data(), out.data(), in.size(), in.type_number(),
                   o.number());
    }
    [[nodiscard]] request allreduce_start(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return begin(ncoll_allreduce_start, in.data(), out.data(), in.size(), in.type_number(),
                     o.number());
    }
    [[nodiscard]] request allreduce_init(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return prepare(ncoll_allreduce_init, in.data(), out.data(), in.size(), in.type_number(),
                       o.number());
    }

    void reduce(const_buffer in, buffer out, op o, int root)
    {
        (void)reduce(in, out, o, root, block);
    }
    [[nodiscard]] bool reduce(const_buffer in, buffer out, op o, int root, timeout t)
    {
        at_root(in, out, root, 1);
        return run(ncoll_reduce, t, in.data(), out.data(), in.size(), in.type_number(), o.number(),
                   root);
    }
    [[nodiscard]] request reduce_start(const_buffer in, buffer out, op o, int root)
    {
        at_root(in, out, root, 1);
        return begin(ncoll_reduce_start, in.data(), out.data(), in.size(), in.type_number(),
                     o.number(), root);
    }
    [[nodiscard]] request reduce_init(const_buffer in, buffer out, op o, int root)
    {
        at_root(in, out, root, 1);
        return prepare(ncoll_reduce_init, in.data(), out.data(), in.size(), in.type_number(),
                       o.number(), root);
    }

    void bcast(buffer b, int root) { (void)bcast(b, root, block); }
    [[nodiscard]] bool bcast(buffer b, int root, timeout t)
    {
        return run(ncoll_bcast, t, b.data(), b.size(), b.type_number(), root);
    }
    [[nodiscard]] request bcast_start(buffer b, int root)
    {
        return begin(ncoll_bcast_start, b.data(), b.size(), b.type_number(), root);
    }
    [[nodiscard]] request bcast_init(buffer b, int root)
    {
        return prepare(ncoll_bcast_init, b.data(), b.size(), b.type_number(), root);
    }

    /* ---- gather, scatter; with counts and, if given, displacements: the v forms */

    void gather(const_buffer in, buffer out, int root) { (void)gather(in, out, root, block); }
    [[nodiscard]] bool gather(const_buffer in, buffer out, int root, timeout t)
    {
        at_root(in, out, root, ranks());
        return run(ncoll_gather, t, in.data(), out.data(), in.size(), in.type_number(), root);
    }
    [[nodiscard]] request gather_start(const_buffer in, buffer out, int root)
    {
        at_root(in, out, root, ranks());
        return begin(ncoll_gather_start, in.data(), out.data(), in.size(), in.type_number(), root);
    }
    [[nodiscard]] request gather_init(const_buffer in, buffer out, int root)
    {
        at_root(in, out, root, ranks());
        return prepare(ncoll_gather_init, in.data(), out.data(), in.size(), in.type_number(), root);
    }

    void gatherv(const_buffer in, buffer out, span<const std::size_t> counts, int root,
                 span<const std::size_t> displs = {})
    {
        (void)gatherv(in, out, counts, root, displs, block);
    }
    [[nodiscard]] bool gatherv(const_buffer in, buffer out, span<const std::size_t> counts,
                               int root, span<const std::size_t> displs, timeout t)
    {
        gathered(in, out, counts, displs, root);
        return run(ncoll_gatherv, t, in.data(), out.data(), counts.data(), displs.data(),
                   in.type_number(), root);
    }
    [[nodiscard]] request gatherv_start(const_buffer in, buffer out, span<const std::size_t> counts,
                                        int root, span<const std::size_t> displs = {})
    {
        gathered(in, out, counts, displs, root);
        return begin(ncoll_gatherv_start, in.data(), out.data(), counts.data(), displs.data(),
                     in.type_number(), root);
    }
    [[nodiscard]] request gatherv_init(const_buffer in, buffer out, span<const std::size_t> counts,
                                       int root, span<const std::size_t> displs = {})
    {
        gathered(in, out, counts, displs, root);
        return prepare(ncoll_gatherv_init, in.data(), out.data(), counts.data(), displs.data(),
                       in.type_number(), root);
    }

    void scatter(const_buffer in, buffer out, int root) { (void)scatter(in, out, root, block); }
    [[nodiscard]] bool scatter(const_buffer in, buffer out, int root, timeout t)
    {
        scattered(in, out, root);
        return run(ncoll_scatter, t, in.data(), out.data(), out.size(), out.type_number(), root);
    }
    [[nodiscard]] request scatter_start(const_buffer in, buffer out, int root)
    {
        scattered(in, out, root);
        return begin(ncoll_scatter_start, in.data(), out.data(), out.size(), out.type_number(),
                     root);
    }
    [[nodiscard]] request scatter_init(const_buffer in, buffer out, int root)
    {
        scattered(in, out, root);
        return prepare(ncoll_scatter_init, in.data(), out.data(), out.size(), out.type_number(),
                       root);
    }

    void scatterv(const_buffer in, span<const std::size_t> counts, buffer out, int root,
                  span<const std::size_t> displs = {})
    {
        (void)scatterv(in, counts, out, root, displs, block);
    }
    [[nodiscard]] bool scatterv(const_buffer in, span<const std::size_t> counts, buffer out,
                                int root, span<const std::size_t> displs, timeout t)
    {
        scattered(in, counts, displs, out, root);
        return run(ncoll_scatterv, t, in.data(), counts.data(), displs.data(), out.data(),
                   out.type_number(), root);
    }
    [[nodiscard]] request scatterv_start(const_buffer in, span<const std::size_t> counts,
                                         buffer out, int root, span<const std::size_t> displs = {})
    {
        scattered(in, counts, displs, out, root);
        return begin(ncoll_scatterv_start, in.data(), counts.data(), displs.data(), out.data(),
                     out.type_number(), root);
    }
    [[nodiscard]] request scatterv_init(const_buffer in, span<const std::size_t> counts, buffer out,
                                        int root, span<const std::size_t> displs = {})
    {
        scattered(in, counts, displs, out, root);
        return prepare(ncoll_scatterv_init, in.data(), counts.data(), displs.data(), out.data(),
                       out.type_number(), root);
    }

    /* ---- allgather, alltoall */

    void allgather(const_buffer in, buffer out) { (void)allgather(in, out, block); }
    [[nodiscard]] bool allgather(const_buffer in, buffer out, timeout t)
    {
        same(in, out, ranks());
        return run(ncoll_allgather, t, in.data(), out.data(), in.size(), in.type_number());
    }
    [[nodiscard]] request allgather_start(const_buffer in, buffer out)
    {
        same(in, out, ranks());
        return begin(ncoll_allgather_start, in.data(), out.data(), in.size(), in.type_number());
    }
    [[nodiscard]] request allgather_init(const_buffer in, buffer out)
    {
        same(in, out, ranks());
        return prepare(ncoll_allgather_init, in.data(), out.data(), in.size(), in.type_number());
    }

    void allgatherv(const_buffer in, buffer out, span<const std::size_t> counts,
                    span<const std::size_t> displs = {})
    {
        (void)allgatherv(in, out, counts, displs, block);
    }
    [[nodiscard]] bool allgatherv(const_buffer in, buffer out, span<const std::size_t> counts,
                                  span<const std::size_t> displs, timeout t)
    {
        gathered(in, out, counts, displs, rank());
        return run(ncoll_allgatherv, t, in.data(), out.data(), counts.data(), displs.data(),
                   in.type_number());
    }
    [[nodiscard]] request allgatherv_start(const_buffer in, buffer out,
                                           span<const std::size_t> counts,
                                           span<const std::size_t> displs = {})
    {
        gathered(in, out, counts, displs, rank());
        return begin(ncoll_allgatherv_start, in.data(), out.data(), counts.data(), displs.data(),
                     in.type_number());
    }
    [[nodiscard]] request allgatherv_init(const_buffer in, buffer out,
                                          span<const std::size_t> counts,
                                          span<const std::size_t> displs = {})
    {
        gathered(in, out, counts, displs, rank());
        return prepare(ncoll_allgatherv_init, in.data(), out.data(), counts.data(), displs.data(),
                       in.type_number());
    }

    void alltoall(const_buffer in, buffer out) { (void)alltoall(in, out, block); }
    [[nodiscard]] bool alltoall(const_buffer in, buffer out, timeout t)
    {
        same(in, out, 1);
        return run(ncoll_alltoall, t, in.data(), out.data(), block_of(in), in.type_number());
    }
    [[nodiscard]] request alltoall_start(const_buffer in, buffer out)
    {
        same(in, out, 1);
        return begin(ncoll_alltoall_start, in.data(), out.data(), block_of(in), in.type_number());
    }
    [[nodiscard]] request alltoall_init(const_buffer in, buffer out)
    {
        same(in, out, 1);
        return prepare(ncoll_alltoall_init, in.data(), out.data(), block_of(in), in.type_number());
    }

    void alltoallv(const_buffer in, span<const std::size_t> in_counts, buffer out,
                   span<const std::size_t> out_counts, span<const std::size_t> in_displs = {},
                   span<const std::size_t> out_displs = {})
    {
        (void)alltoallv(in, in_counts, out, out_counts, in_displs, out_displs, block);
    }
    [[nodiscard]] bool alltoallv(const_buffer in, span<const std::size_t> in_counts, buffer out,
                                 span<const std::size_t> out_counts,
                                 span<const std::size_t> in_displs,
                                 span<const std::size_t> out_displs, timeout t)
    {
        exchanged(in, in_counts, in_displs, out, out_counts, out_displs);
        return run(ncoll_alltoallv, t, in.data(), in_counts.data(), in_displs.data(), out.data(),
                   out_counts.data(), out_displs.data(), in.type_number());
    }
    [[nodiscard]] request alltoallv_start(const_buffer in, span<const std::size_t> in_counts,
                                          buffer out, span<const std::size_t> out_counts,
                                          span<const std::size_t> in_displs = {},
                                          span<const std::size_t> out_displs = {})
    {
        exchanged(in, in_counts, in_displs, out, out_counts, out_displs);
        return begin(ncoll_alltoallv_start, in.data(), in_counts.data(), in_displs.data(),
                     out.data(), out_counts.data(), out_displs.data(), in.type_number());
    }
    [[nodiscard]] request alltoallv_init(const_buffer in, span<const std::size_t> in_counts,
                                         buffer out, span<const std::size_t> out_counts,
                                         span<const std::size_t> in_displs = {},
                                         span<const std::size_t> out_displs = {})
    {
        exchanged(in, in_counts, in_displs, out, out_counts, out_displs);
        return prepare(ncoll_alltoallv_init, in.data(), in_counts.data(), in_displs.data(),
                       out.data(), out_counts.data(), out_displs.data(), in.type_number());
    }

    /* ---- reduce_scatter, scan */

    void reduce_scatter(const_buffer in, buffer out, span<const std::size_t> counts, op o)
    {
        (void)reduce_scatter(in, out, counts, o, block);
    }
    [[nodiscard]] bool reduce_scatter(const_buffer in, buffer out, span<const std::size_t> counts,
                                      op o, timeout t)
    {
        sliced(in, out, counts);
        return run(ncoll_reduce_scatter, t, in.data(), out.data(), counts.data(), in.type_number(),
                   o.number());
    }
    [[nodiscard]] request reduce_scatter_start(const_buffer in, buffer out,
                                               span<const std::size_t> counts, op o)
    {
        sliced(in, out, counts);
        return begin(ncoll_reduce_scatter_start, in.data(), out.data(), counts.data(),
                     in.type_number(), o.number());
    }
    [[nodiscard]] request reduce_scatter_init(const_buffer in, buffer out,
                                              span<const std::size_t> counts, op o)
    {
        sliced(in, out, counts);
        return prepare(ncoll_reduce_scatter_init, in.data(), out.data(), counts.data(),
                       in.type_number(), o.number());
    }

    void reduce_scatter_block(const_buffer in, buffer out, op o)
    {
        (void)reduce_scatter_block(in, out, o, block);
    }
    [[nodiscard]] bool reduce_scatter_block(const_buffer in, buffer out, op o, timeout t)
    {
        parted(in, out);
        return run(ncoll_reduce_scatter_block, t, in.data(), out.data(), out.size(),
                   out.type_number(), o.number());
    }
    [[nodiscard]] request reduce_scatter_block_start(const_buffer in, buffer out, op o)
    {
        parted(in, out);
        return begin(ncoll_reduce_scatter_block_start, in.data(), out.data(), out.size(),
                     out.type_number(), o.number());
    }
    [[nodiscard]] request reduce_scatter_block_init(const_buffer in, buffer out, op o)
    {
        parted(in, out);
        return prepare(ncoll_reduce_scatter_block_init, in.data(), out.data(), out.size(),
                       out.type_number(), o.number());
    }

    void scan(const_buffer in, buffer out, op o) { (void)scan(in, out, o, block); }
    [[nodiscard]] bool scan(const_buffer in, buffer out, op o, timeout t)
    {
        same(in, out, 1);
        return run(ncoll_scan, t, in.data(), out.data(), in.size(), in.type_number(), o.number());
    }
    [[nodiscard]] request scan_start(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return begin(ncoll_scan_start, in.data(), out.data(), in.size(), in.type_number(),
                     o.number());
    }
    [[nodiscard]] request scan_init(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return prepare(ncoll_scan_init, in.data(), out.data(), in.size(), in.type_number(),
                       o.number());
    }

    void exscan(const_buffer in, buffer out, op o) { (void)exscan(in, out, o, block); }
    [[nodiscard]] bool exscan(const_buffer in, buffer out, op o, timeout t)
    {
        same(in, out, 1);
        return run(ncoll_exscan, t, in.data(), out.data(), in.size(), in.type_number(), o.number());
    }
    [[nodiscard]] request exscan_start(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return begin(ncoll_exscan_start, in.data(), out.data(), in.size(), in.type_number(),
                     o.number());
    }
    [[nodiscard]] request exscan_init(const_buffer in, buffer out, op o)
    {
        same(in, out, 1);
        return prepare(ncoll_exscan_init, in.data(), out.data(), in.size(), in.type_number(),
                       o.number());
    }

    /* Run calls of C on the group, also for other headers: `f(group, a.., time-out)`, `f(group,
     * a.., &request)`. */

    template <class F, class... A> bool run(F f, timeout t, A... a) const
    {
        detail::state &s = detail::of(state_);
        return s.done(f(group_, a..., t.ns()));
    }
    template <class F, class... A> request begin(F f, A... a) const
    {
        ncoll_request *made = nullptr;
        check(f(handle(), a..., &made));
        return request(state_, made, false);
    }
    template <class F, class... A> request prepare(F f, A... a) const
    {
        ncoll_request *made = nullptr;
        check(f(handle(), a..., &made));
        return request(state_, made, true);
    }
    void check(int status) const { detail::of(state_).done(status); }
    ncoll_group *handle() const
    {
        detail::of(state_);
        return group_;
    }

    /* Check that the buffers of this rank fit each other. The library compares the calls of all
     * ranks. */

    static void same(const const_buffer &in, const buffer &out, std::size_t blocks)
    {
        if (in.type_number() != out.type_number())
            detail::refuse("the elements of in and out are of different types",
                           "give both the same element type");
        if (out.size() != in.size() * blocks)
            detail::refuse("out has " + std::to_string(out.size()) + " elements, not " +
                               std::to_string(in.size() * blocks),
                           "resize out before the call");
    }

    void at_root(const const_buffer &in, const buffer &out, int root, std::size_t blocks) const
    {
        if (rank() == root)
            same(in, out, blocks);
    }

  private:
    template <class F, class... A> bool make(F f, group &made, timeout t, A... a)
    {
        ncoll_group *g = nullptr;
        if (!detail::of(state_).done(f(group_, a..., &g, t.ns())))
            return false;
        made = group(state_, g, true);
        return true;
    }

    std::size_t ranks() const { return static_cast<std::size_t>(size()); }

    /* Returns the number of elements that a buffer with these counts and displacements must
     * have. */
    std::size_t reach(span<const std::size_t> counts, span<const std::size_t> displs) const
    {
        std::size_t end = 0;

        if (counts.size() != ranks() || (!displs.empty() && displs.size() != ranks()))
            detail::refuse("counts and displacements are not one for each rank of the group",
                           "give as many as the group has ranks");
        for (std::size_t i = 0; i < counts.size(); i++)
            end = displs.empty()   ? end + counts[i]
                  : counts[i] == 0 ? end
                                   : (std::max)(end, displs[i] + counts[i]);
        return end;
    }

    static void has(const char *name, std::size_t size, std::size_t least)
    {
        if (size < least)
            detail::refuse(std::string(name) + " has " + std::to_string(size) +
                               " elements, fewer than the counts say: " + std::to_string(least),
                           "resize the buffer before the call, or correct the counts");
    }

    static void alike(const const_buffer &in, const buffer &out)
    {
        if (in.type_number() != out.type_number())
            detail::refuse("the elements of in and out are of different types",
                           "give both the same element type");
    }

    std::size_t own(span<const std::size_t> counts) const
    {
        return counts[static_cast<std::size_t>(rank())];
    }

    void gathered(const const_buffer &in, const buffer &out, span<const std::size_t> counts,
                  span<const std::size_t> displs, int root) const
    {
        std::size_t end = reach(counts, displs);

        has("in", in.size(), own(counts));
        if (rank() == root) {
            alike(in, out);
            has("out", out.size(), end);
        }
    }

    void scattered(const const_buffer &in, const buffer &out, int root) const
    {
        if (rank() != root)
            return;
        alike(in, out);
        if (in.size() != out.size() * ranks())
            detail::refuse("in has " + std::to_string(in.size()) + " elements, not " +
                               std::to_string(out.size() * ranks()),
                           "give one block for each rank");
    }

    void scattered(const const_buffer &in, span<const std::size_t> counts,
                   span<const std::size_t> displs, const buffer &out, int root) const
    {
        std::size_t end = reach(counts, displs);

        has("out", out.size(), own(counts));
        if (rank() == root) {
            alike(in, out);
            has("in", in.size(), end);
        }
    }

    void exchanged(const const_buffer &in, span<const std::size_t> in_counts,
                   span<const std::size_t> in_displs, const buffer &out,
                   span<const std::size_t> out_counts, span<const std::size_t> out_displs) const
    {
        alike(in, out);
        has("in", in.size(), reach(in_counts, in_displs));
        has("out", out.size(), reach(out_counts, out_displs));
    }

    void sliced(const const_buffer &in, const buffer &out, span<const std::size_t> counts) const
    {
        alike(in, out);
        has("in", in.size(), reach(counts, {}));
        has("out", out.size(), own(counts));
    }

    void parted(const const_buffer &in, const buffer &out) const
    {
        alike(in, out);
        if (in.size() != out.size() * ranks())
            detail::refuse("in has " + std::to_string(in.size()) + " elements, not " +
                               std::to_string(out.size() * ranks()),
                           "give one block for each rank");
    }

    std::size_t block_of(const const_buffer &in) const
    {
        std::size_t p = ranks();

        if (in.size() % p != 0)
            detail::refuse("in has " + std::to_string(in.size()) +
                               " elements, which is no multiple of the number of ranks",
                           "give one block of the same size for each rank");
        return in.size() / p;
    }

    void leave() noexcept
    {
        if (group_ != nullptr && owned_ && state_ != nullptr && state_->ctx != nullptr &&
            std::uncaught_exceptions() <= unwinding_)
            (void)ncoll_group_free(&group_, NCOLL_BLOCK);
        group_ = nullptr;
    }

    detail::shared state_;
    ncoll_group *group_ = nullptr;
    bool owned_ = false;
    int unwinding_ = 0; /* exceptions that were in flight when the group was made */
};

/* ------------------------------------------------------------------ memory ------------------- */

/** Memory of ncoll_alloc(), zeroed, that messages need not be copied from; freed by its destructor.
 */
template <class T> class memory
{
    static_assert(std::is_trivially_copyable_v<T>, "its bytes are what is sent");

  public:
    memory() noexcept = default;
    memory(detail::shared state, T *first, std::size_t n) noexcept
        : state_(std::move(state)), first_(first), size_(n)
    {
    }
    memory(memory &&other) noexcept
        : state_(std::move(other.state_)), first_(std::exchange(other.first_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }
    memory &operator=(memory &&other) noexcept
    {
        if (this != &other) {
            release();
            state_ = std::move(other.state_);
            first_ = std::exchange(other.first_, nullptr);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }
    ~memory() { release(); }

    /** Frees the memory; throws NCOLL_ERR_BUSY while an unfinished collective uses it. */
    void free()
    {
        if (first_ == nullptr)
            return;
        detail::state &s = detail::of(state_);
        s.done(ncoll_free(s.ctx, first_));
        first_ = nullptr;
        size_ = 0;
    }

    T *data() noexcept { return first_; }
    const T *data() const noexcept { return first_; }
    std::size_t size() const noexcept { return size_; }
    T &operator[](std::size_t i) noexcept { return first_[i]; }
    const T &operator[](std::size_t i) const noexcept { return first_[i]; }
    T *begin() noexcept { return first_; }
    T *end() noexcept { return first_ + size_; }
    const T *begin() const noexcept { return first_; }
    const T *end() const noexcept { return first_ + size_; }

  private:
    /* Memory that is in use is freed with the context. */
    void release() noexcept
    {
        if (first_ != nullptr && state_ != nullptr && state_->ctx != nullptr)
            (void)ncoll_free(state_->ctx, first_);
        first_ = nullptr;
    }

    detail::shared state_;
    T *first_ = nullptr;
    std::size_t size_ = 0;
};

/** A registration of the program's own memory. Its destructor ends the registration, and has to run
 * before the memory is freed. */
class registration
{
  public:
    registration() noexcept = default;
    registration(detail::shared state, void *memory) noexcept
        : state_(std::move(state)), memory_(memory)
    {
    }
    registration(registration &&other) noexcept
        : state_(std::move(other.state_)), memory_(std::exchange(other.memory_, nullptr))
    {
    }
    registration &operator=(registration &&other) noexcept
    {
        if (this != &other) {
            release();
            state_ = std::move(other.state_);
            memory_ = std::exchange(other.memory_, nullptr);
        }
        return *this;
    }
    ~registration() { release(); }

    void end()
    {
        if (memory_ == nullptr)
            return;
        detail::state &s = detail::of(state_);
        s.done(ncoll_mem_deregister(s.ctx, memory_));
        memory_ = nullptr;
    }

  private:
    void release() noexcept
    {
        if (memory_ != nullptr && state_ != nullptr && state_->ctx != nullptr)
            (void)ncoll_mem_deregister(state_->ctx, memory_);
        memory_ = nullptr;
    }

    detail::shared state_;
    void *memory_ = nullptr;
};

/* ------------------------------------------------------------------ context ------------------ */

/**
 * Parameters of a context: the fields of ncoll_params, with their defaults. Strings are not copied;
 * they must live until the context is made.
 */
class params : public ncoll_params
{
  public:
    params() { detail::check(ncoll_params_init(this, sizeof(ncoll_params))); }
    explicit params(const ncoll_params &p) : ncoll_params(p) {}

    /** Sends the log to a function. Exceptions of the function are ignored. */
    void on_log(std::function<void(ncoll_log_level, const char *)> f)
    {
        using F = decltype(f);
        auto held = std::make_shared<F>(std::move(f));

        log_arg = held.get();
        log = [](void *arg, ncoll_log_level of_text, const char *text) {
            try {
                (*static_cast<F *>(arg))(of_text, text);
            } catch (...) {
            }
        };
        kept_.push_back(std::move(held));
    }

    /**
     * Lets the ranks find each other by an allgather of the program: f(in, bytes, out) puts the
     * bytes of rank q at out + q * bytes, and returns true. If it fails, it returns false or
     * throws. See ncoll_allgather_fn.
     */
    void allgather_by(int own_rank, int all_ranks,
                      std::function<bool(const void *, std::size_t, void *)> f)
    {
        using F = decltype(f);
        auto held = std::make_shared<F>(std::move(f));

        bootstrap = NCOLL_BOOTSTRAP_USER;
        rank = own_rank;
        ranks = all_ranks;
        allgather_arg = held.get();
        allgather = [](void *arg, const void *in, std::size_t bytes, void *out) -> int {
            try {
                return (*static_cast<F *>(arg))(in, bytes, out) ? 0 : 1;
            } catch (...) {
                return 1;
            }
        };
        kept_.push_back(std::move(held));
    }

    const std::vector<std::shared_ptr<void>> &kept() const noexcept { return kept_; }

  private:
    std::vector<std::shared_ptr<void>> kept_;
};

/** The value of params::radix for a list of radices; see ncoll_radix_list(). */
inline int radix_list(span<const int> n)
{
    int radix = ncoll_radix_list(n.data(), n.size());

    if (radix < 0)
        detail::check(radix);
    return radix;
}

/**
 * A board by which ranks that are threads of this process find each other; see
 * ncoll_thread_board_create(). The board may be destroyed as soon as no rank will join on it any
 * more. All its functions may be called by any thread at any time.
 */
class thread_board
{
  public:
    explicit thread_board(int ranks)
    {
        ncoll_error e{};

        if (ncoll_thread_board_create(ranks, &board_, &e) != NCOLL_OK)
            throw error(e);
    }
    thread_board(thread_board &&other) noexcept : board_(std::exchange(other.board_, nullptr)) {}
    thread_board &operator=(thread_board &&other) noexcept
    {
        if (this != &other) {
            ncoll_thread_board_destroy(board_);
            board_ = std::exchange(other.board_, nullptr);
        }
        return *this;
    }
    ~thread_board() { ncoll_thread_board_destroy(board_); }

    /** Returns the parameters of a rank: those of `base`, with the board and the rank. */
    params of(int rank, const params &base = params()) const
    {
        params p(base);

        p.thread_board = board_;
        p.rank = rank;
        return p;
    }
    /** Tells the other ranks that this rank will not join, or will make no more calls; see
     * ncoll_thread_board_give_up(). */
    void give_up(int rank) { detail::check(ncoll_thread_board_give_up(board_, rank)); }
    ncoll_thread_board *native() const noexcept { return board_; }

  private:
    ncoll_thread_board *board_ = nullptr;
};

/** One rank's end of a job. The constructor joins the job, the destructor leaves it at once: calls
 * that have ended on this rank do not need this rank any more. */
class context
{
  public:
    context() : context(params()) {}
    explicit context(const params &p) : state_(std::make_shared<detail::state>())
    {
        ncoll_error e{};

        state_->kept = p.kept();
        if (ncoll_context_create(&p, &state_->ctx, &e) != NCOLL_OK)
            throw error(e);
    }
    /** Takes over a context that ncoll_context_create() has made. */
    explicit context(ncoll_context *ctx) : state_(std::make_shared<detail::state>())
    {
        state_->ctx = ctx;
    }
    context(context &&) noexcept = default;
    context &operator=(context &&other) noexcept
    {
        if (this != &other) {
            close();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~context() { close(); }

    /** Leaves the job now. Groups, requests and memory of the context are invalid from now on. */
    void close() noexcept
    {
        if (state_ != nullptr)
            state_->close();
    }
    explicit operator bool() const noexcept { return state_ != nullptr && state_->ctx != nullptr; }
    ncoll_context *native() const { return detail::of(state_).ctx; }
    const detail::shared &state() const noexcept { return state_; }

    /** The group of all ranks. */
    group world() const { return group(state_, ncoll_world(native()), false); }
    int rank() const { return ncoll_group_rank(ncoll_world(native())); }
    int size() const { return ncoll_group_size(ncoll_world(native())); }

    /** Advances all unfinished collectives, without waiting. */
    void progress() { check(ncoll_progress(native())); }
    /** Does what progress() does, and returns the number of events; see ncoll_progress_count(). */
    unsigned progress_count()
    {
        unsigned events = 0;
        check(ncoll_progress_count(native(), &events));
        return events;
    }

    /** A descriptor to sleep on in a loop of the program's own; see ncoll_context_fd(). */
    int fd()
    {
        int made = -1;
        check(ncoll_context_fd(native(), &made));
        return made;
    }
    /** Returns true if the program may sleep on the descriptor now; false: the program has
     * something to do first. */
    [[nodiscard]] bool arm() { return detail::of(state_).done(ncoll_context_arm(native())); }

    ncoll_stats stats() const
    {
        ncoll_stats s{};
        s.size = sizeof s;
        check(ncoll_context_stats(native(), &s));
        return s;
    }
    /** Describes in lines of text what this rank is doing. */
    std::string describe() const
    {
        std::string text(ncoll_describe(native(), nullptr, 0), '\0');
        std::size_t n = ncoll_describe(native(), text.data(), text.size() + 1);
        text.resize((std::min)(n, text.size()));
        return text;
    }
    /** The last error; after a time-out of a second or more, what the call waits for. */
    const ncoll_error &last_error() const { return *ncoll_last_error(native()); }

    /** Sets hooks for the calls of the context; see ncoll_context_set_hooks(). */
    void set_hooks(const ncoll_hooks &hooks) { check(ncoll_context_set_hooks(native(), &hooks)); }
    /**
     * Sets function objects as hooks, which live as long as the context. ncoll_call_info.id says
     * which end belongs to which begin. If a hook throws, the next call of the context that ends on
     * this rank throws the exception.
     *
     * @param begin  void begin(const ncoll_call_info &call)
     * @param end    void end(const ncoll_call_info &call, ncoll_status status)
     */
    template <class B, class E> void set_hooks(B begin, E end)
    {
        using functions = detail::hook_functions<B, E>;
        detail::state &s = detail::of(state_);
        auto held =
            std::make_shared<functions>(functions{std::move(begin), std::move(end), state_.get()});
        ncoll_hooks hooks{};

        hooks.size = sizeof hooks;
        hooks.begin = functions::begin;
        hooks.end = functions::end;
        hooks.user = held.get();
        s.kept.push_back(held);
        set_hooks(hooks);
    }
    /** Removes the hooks: no hooks are called for calls that begin from now on. */
    void clear_hooks() { check(ncoll_context_set_hooks(native(), nullptr)); }

    /** Registers T as a type: its bytes are moved, and only operations of the program's own combine
     * them. All ranks register the same types in the same order. */
    template <class T> type<T> make_type(const char *name = nullptr)
    {
        static_assert(std::is_trivially_copyable_v<T>, "its bytes are what is sent");
        return type<T>(make_type(sizeof(T), name));
    }
    ncoll_type make_type(std::size_t size, const char *name = nullptr)
    {
        ncoll_type made = 0;
        check(name == nullptr ? ncoll_type_create(native(), size, &made)
                              : ncoll_type_create_named(native(), size, name, &made));
        return made;
    }
    std::size_t type_size(ncoll_type t) const { return ncoll_context_type_size(native(), t); }

    /**
     * Makes an operation on elements T from the function f(a, b), which has to be associative. The
     * function object lives as long as the context. If the function throws, the next call of the
     * context that ends on this rank throws the exception; results are then undefined, also on
     * other ranks. All ranks make the same operations in the same order.
     *
     * @param f      T f(const T &a, const T &b)
     * @param flags  NCOLL_OP_COMMUTATIVE, NCOLL_OP_IDEMPOTENT or both; 0: neither
     * @param name   compared between ranks; nullptr: none
     */
    template <class T, class F> op make_op(F f, unsigned flags = 0, const char *name = nullptr)
    {
        return add<T>(std::move(f), detail::none(), flags, name);
    }
    /** Makes an operation with an inverse: inverse(f(a, b), b) is a. */
    template <class T, class F, class G>
    op make_op_with_inverse(F f, G inverse, unsigned flags, const char *name = nullptr)
    {
        return add<T>(std::move(f), std::move(inverse), flags, name);
    }
    op make_op(const ncoll_op_def &def, const char *name = nullptr)
    {
        ncoll_op made = 0;
        check(name == nullptr ? ncoll_op_create(native(), &def, &made)
                              : ncoll_op_create_named(native(), &def, name, &made));
        return op(made);
    }

    /** Memory for n elements T, zeroed; see ncoll_alloc(). */
    template <class T> memory<T> alloc(std::size_t n)
    {
        void *first = nullptr;

        if (n > SIZE_MAX / sizeof(T))
            throw std::bad_array_new_length();
        check(ncoll_alloc(native(), n * sizeof(T), &first));
        return memory<T>(state_, static_cast<T *>(first), n);
    }
    /** Registers memory; see ncoll_mem_register(). */
    registration register_memory(void *first, std::size_t bytes)
    {
        check(ncoll_mem_register(native(), first, bytes));
        return registration(state_, first);
    }
    template <class T> registration register_memory(span<T> elements)
    {
        return register_memory(elements.data(), elements.size() * sizeof(T));
    }

  private:
    template <class T, class F, class G> op add(F f, G g, unsigned flags, const char *name)
    {
        static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                      "elements are copied by their bytes");
        using functions = detail::functions<T, F, G>;
        detail::state &s = detail::of(state_);
        auto held =
            std::make_shared<functions>(functions{std::move(f), std::move(g), state_.get()});
        ncoll_op_def def{};

        def.size = sizeof def;
        def.flags = flags;
        def.combine = functions::combine;
        if constexpr (!std::is_same_v<G, detail::none>)
            def.inverse = functions::inverse;
        def.arg = held.get();
        s.kept.push_back(held); /* before the library gets a pointer to it */
        return make_op(def, name);
    }

    void check(int status) const { detail::of(state_).done(status); }

    detail::shared state_;
};

/* ------------------------------------------------------------------ forked ranks ------------- */

/**
 * Runs `main` in processes forked from this one, and waits for them. A rank that ends with an
 * exception prints it, and has the exit status 1. Returns the exit status of each rank, or 128 plus
 * the signal that ended it. See ncoll_fork_ranks().
 *
 * @param ranks  number of ranks
 * @param main   int main(const ncoll::params &), which makes its context from these parameters
 * @param base   parameters for all ranks
 */
template <class F> std::vector<int> fork_ranks(int ranks, F main, const params &base = params())
{
    struct job {
        F *main_;
        const params *base_;
    } j{&main, &base};
    std::vector<int> codes(ranks > 0 ? static_cast<std::size_t>(ranks) : 0);
    int status = ncoll_fork_ranks(
        ranks, &base,
        [](const ncoll_params *p, void *arg) -> int {
            try {
                params mine(*static_cast<job *>(arg)->base_); /* with the functions that it keeps */
                static_cast<ncoll_params &>(mine) = *p;
                return (*static_cast<job *>(arg)->main_)(static_cast<const params &>(mine));
            } catch (const std::exception &e) {
                std::fprintf(stderr, "rank %d: %s\n", p->rank, e.what());
            } catch (...) {
                std::fprintf(stderr, "rank %d: an exception\n", p->rank);
            }
            return 1;
        },
        &j, codes.data());

    if (status != NCOLL_OK && status != NCOLL_ERR_PEER)
        detail::check(status);
    return codes;
}

} // namespace ncoll

#endif
