/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ncoll_eventual.h for C++17 and later: stale-synchronous and partial allreduces, bcasts and
 * reduces with a threshold, and compressed ones, in the manner of ncoll.hpp.
 */
#ifndef NCOLL_EVENTUAL_HPP
#define NCOLL_EVENTUAL_HPP

#include "ncoll.hpp"
#include "ncoll_eventual.h"

namespace ncoll
{

/* ------------------------------------------------------------------ mailboxes ---------------- */

/** ncoll_stale_params, with its size set, and the defaults of ncoll_stale_create(). */
struct stale_params : ncoll_stale_params {
    stale_params() : ncoll_stale_params{}
    {
        size = sizeof(ncoll_stale_params);
        max_slack = 16;
    }
};

/** ncoll_stale_result, with its size set. It must live as long as a request that fills it in. */
struct stale_result : ncoll_stale_result {
    stale_result() : ncoll_stale_result{} { size = sizeof(ncoll_stale_result); }
};

/**
 * Clocks and mailboxes of a group, for vectors of one length, type and operation; see
 * ncoll_stale_create(). The destructor frees the object, which is collective over its ranks, like
 * free(). While an exception unwinds the stack, the object is left to its context instead.
 */
class stale
{
  public:
    stale() noexcept = default;
    /** Makes the object; collective over the group. */
    stale(group &g, std::size_t count, ncoll_type t, op o, const stale_params &p = stale_params())
    {
        (void)create(g, count, t, o, p, block);
    }
    stale(stale &&other) noexcept
        : state_(std::move(other.state_)), stale_(std::exchange(other.stale_, nullptr)),
          count_(other.count_), type_(other.type_), op_(other.op_), unwinding_(other.unwinding_)
    {
    }
    stale &operator=(stale &&other) noexcept
    {
        if (this != &other) {
            leave();
            state_ = std::move(other.state_);
            stale_ = std::exchange(other.stale_, nullptr);
            count_ = other.count_;
            type_ = other.type_;
            op_ = other.op_;
            unwinding_ = other.unwinding_;
        }
        return *this;
    }
    ~stale() { leave(); }

    /** Makes the clocks and mailboxes of an empty object, with a time-out. After false, call again
     * with the same arguments. */
    [[nodiscard]] bool create(group &g, std::size_t count, ncoll_type t, op o,
                              const stale_params &p, timeout limit)
    {
        leave();
        state_ = g.state();
        unwinding_ = std::uncaught_exceptions();
        count_ = count;
        type_ = t;
        op_ = o.number();
        ncoll_group *native = g.handle();
        return detail::of(state_).done(
            ncoll_stale_create(native, &p, count, t, op_, &stale_, limit.ns()));
    }

    void free() { (void)free(block); }
    [[nodiscard]] bool free(timeout t)
    {
        return stale_ == nullptr || detail::of(state_).done(ncoll_stale_free(&stale_, t.ns()));
    }
    explicit operator bool() const noexcept { return stale_ != nullptr; }
    ncoll_stale *native() const noexcept { return stale_; }

    /** Stale-synchronous allreduce: contributions may be up to `slack` calls old. */
    void allreduce(const_buffer in, buffer out, int slack, stale_result *result = nullptr)
    {
        (void)allreduce(in, out, slack, result, block);
    }
    [[nodiscard]] bool allreduce(const_buffer in, buffer out, int slack, stale_result *result,
                                 timeout t)
    {
        return run(ncoll_allreduce_ssp, in, out, slack, result, t);
    }
    [[nodiscard]] request allreduce_start(const_buffer in, buffer out, int slack,
                                          stale_result *result = nullptr)
    {
        return make(ncoll_allreduce_ssp_start, in, out, slack, result, false);
    }
    [[nodiscard]] request allreduce_init(const_buffer in, buffer out, int slack,
                                         stale_result *result = nullptr)
    {
        return make(ncoll_allreduce_ssp_init, in, out, slack, result, true);
    }

    /** Partial allreduce of an object made with `partial`: waits for `quorum` ranks; NCOLL_SOLO and
     * NCOLL_MAJORITY are allowed, too. */
    void allreduce_partial(const_buffer in, buffer out, int quorum, stale_result *result = nullptr)
    {
        (void)allreduce_partial(in, out, quorum, result, block);
    }
    [[nodiscard]] bool allreduce_partial(const_buffer in, buffer out, int quorum,
                                         stale_result *result, timeout t)
    {
        return run(ncoll_allreduce_partial, in, out, quorum, result, t);
    }
    [[nodiscard]] request allreduce_partial_start(const_buffer in, buffer out, int quorum,
                                                  stale_result *result = nullptr)
    {
        return make(ncoll_allreduce_partial_start, in, out, quorum, result, false);
    }
    [[nodiscard]] request allreduce_partial_init(const_buffer in, buffer out, int quorum,
                                                 stale_result *result = nullptr)
    {
        return make(ncoll_allreduce_partial_init, in, out, quorum, result, true);
    }

  private:
    detail::state &live() const
    {
        detail::state &s = detail::of(state_);
        if (stale_ == nullptr)
            throw error(NCOLL_ERR_HANDLE, "the object is freed", "");
        return s;
    }

    template <class F>
    bool run(F f, const_buffer in, buffer out, int n, stale_result *result, timeout t)
    {
        group::same(in, out, 1);
        detail::state &s = live();
        return s.done(
            f(stale_, in.data(), out.data(), in.size(), in.type_number(), op_, n, result, t.ns()));
    }

    template <class F>
    request make(F f, const_buffer in, buffer out, int n, stale_result *result, bool persistent)
    {
        ncoll_request *made = nullptr;

        group::same(in, out, 1);
        detail::state &s = live();
        s.done(
            f(stale_, in.data(), out.data(), in.size(), in.type_number(), op_, n, result, &made));
        return request(state_, made, persistent);
    }

    void leave() noexcept
    {
        if (stale_ != nullptr && state_ != nullptr && state_->ctx != nullptr &&
            std::uncaught_exceptions() <= unwinding_)
            (void)ncoll_stale_free(&stale_, NCOLL_BLOCK);
        stale_ = nullptr;
    }

    detail::shared state_;
    ncoll_stale *stale_ = nullptr;
    std::size_t count_ = 0;
    ncoll_type type_ = 0;
    ncoll_op op_ = 0;
    int unwinding_ = 0;
};

/* ------------------------------------------------------------------ thresholds --------------- */

/** ncoll_threshold, with its size set: threshold::data(0.25), heaviest(0.25, weights), ranks(0.5).
 */
struct threshold : ncoll_threshold {
    threshold(ncoll_threshold_of parts, double f, span<const double> w = {},
              const ncoll_threshold_status *earlier = nullptr)
        : ncoll_threshold{sizeof(ncoll_threshold), parts, f, w.empty() ? nullptr : w.data(),
                          earlier}
    {
    }
    static threshold data(double f) { return {NCOLL_THRESHOLD_DATA, f}; }
    static threshold heaviest(double f, span<const double> w)
    {
        return {NCOLL_THRESHOLD_HEAVIEST, f, w};
    }
    static threshold ranks(double f, span<const double> w = {})
    {
        return {NCOLL_THRESHOLD_RANKS, f, w};
    }
    /** Returns this threshold for the remainder, after what earlier calls have delivered. */
    threshold following(const ncoll_threshold_status &earlier) const
    {
        threshold next(*this);
        next.after = &earlier;
        return next;
    }
};

/** ncoll_threshold_status, with its size set; it asks for the elements and ranks that are in, if it
 * gets room for them. */
struct threshold_status : ncoll_threshold_status {
    explicit threshold_status(span<std::uint8_t> elements_in = {}, span<std::uint8_t> ranks_in = {})
        : ncoll_threshold_status{}
    {
        size = sizeof(ncoll_threshold_status);
        element_in = elements_in.empty() ? nullptr : elements_in.data();
        rank_in = ranks_in.empty() ? nullptr : ranks_in.data();
    }
};

/** Bcast with a threshold; see ncoll_bcast_threshold(). */
[[nodiscard]] inline bool bcast_threshold(group &g, buffer b, int root, const threshold &th,
                                          threshold_status *status, timeout t)
{
    return g.run(ncoll_bcast_threshold, t, b.data(), b.size(), b.type_number(), root, &th, status);
}
inline void bcast_threshold(group &g, buffer b, int root, const threshold &th,
                            threshold_status *status = nullptr)
{
    (void)bcast_threshold(g, b, root, th, status, block);
}
[[nodiscard]] inline request bcast_threshold_start(group &g, buffer b, int root,
                                                   const threshold &th,
                                                   threshold_status *status = nullptr)
{
    return g.begin(ncoll_bcast_threshold_start, b.data(), b.size(), b.type_number(), root, &th,
                   status);
}
[[nodiscard]] inline request bcast_threshold_init(group &g, buffer b, int root, const threshold &th,
                                                  threshold_status *status = nullptr)
{
    return g.prepare(ncoll_bcast_threshold_init, b.data(), b.size(), b.type_number(), root, &th,
                     status);
}

/** Reduce with a threshold; see ncoll_reduce_threshold(). */
[[nodiscard]] inline bool reduce_threshold(group &g, const_buffer in, buffer out, op o, int root,
                                           const threshold &th, threshold_status *status, timeout t)
{
    g.at_root(in, out, root, 1);
    return g.run(ncoll_reduce_threshold, t, in.data(), out.data(), in.size(), in.type_number(),
                 o.number(), root, &th, status);
}
inline void reduce_threshold(group &g, const_buffer in, buffer out, op o, int root,
                             const threshold &th, threshold_status *status = nullptr)
{
    (void)reduce_threshold(g, in, out, o, root, th, status, block);
}
[[nodiscard]] inline request reduce_threshold_start(group &g, const_buffer in, buffer out, op o,
                                                    int root, const threshold &th,
                                                    threshold_status *status = nullptr)
{
    g.at_root(in, out, root, 1);
    return g.begin(ncoll_reduce_threshold_start, in.data(), out.data(), in.size(), in.type_number(),
                   o.number(), root, &th, status);
}
[[nodiscard]] inline request reduce_threshold_init(group &g, const_buffer in, buffer out, op o,
                                                   int root, const threshold &th,
                                                   threshold_status *status = nullptr)
{
    g.at_root(in, out, root, 1);
    return g.prepare(ncoll_reduce_threshold_init, in.data(), out.data(), in.size(),
                     in.type_number(), o.number(), root, &th, status);
}

/* ------------------------------------------------------------------ compression -------------- */

/** ncoll_codec, with its size set: codec::topk(), codec::round16(), or one whose functions a
 * program sets. */
struct codec : ncoll_codec {
    codec() : ncoll_codec{} { size = sizeof(ncoll_codec); }
    /** Top-k sparsification, which keeps the given fraction of the elements. */
    static codec topk(double fraction)
    {
        codec c;
        detail::check(ncoll_codec_topk(&c, fraction));
        return c;
    }
    /** Rounding to NCOLL_HALF or NCOLL_BFLOAT16. */
    static codec round16(ncoll_type to)
    {
        codec c;
        detail::check(ncoll_codec_round16(&c, to));
        return c;
    }
};

/** A codec and its residual, for vectors of one length and type; see ncoll_compressor_create(). */
class compressor
{
  public:
    compressor() noexcept = default;
    compressor(group &g, const codec &c, std::size_t count, ncoll_type t, bool feedback)
        : state_(g.state()), group_(g.handle()), count_(count), type_(t)
    {
        detail::of(state_).done(
            ncoll_compressor_create(group_, &c, count, t, feedback ? 1 : 0, &compressor_));
    }
    compressor(compressor &&other) noexcept
        : state_(std::move(other.state_)), group_(other.group_),
          compressor_(std::exchange(other.compressor_, nullptr)), count_(other.count_),
          type_(other.type_)
    {
    }
    compressor &operator=(compressor &&other) noexcept
    {
        if (this != &other) {
            release();
            state_ = std::move(other.state_);
            group_ = other.group_;
            compressor_ = std::exchange(other.compressor_, nullptr);
            count_ = other.count_;
            type_ = other.type_;
        }
        return *this;
    }
    ~compressor() { release(); }

    void free()
    {
        if (compressor_ != nullptr)
            detail::of(state_).done(ncoll_compressor_free(&compressor_));
    }
    explicit operator bool() const noexcept { return compressor_ != nullptr; }
    ncoll_compressor *native() const noexcept { return compressor_; }

    /** Copies the residual of this rank. */
    void residual(buffer out) const
    {
        whole(out);
        live().done(ncoll_compressor_residual(compressor_, out.data()));
    }
    /** Sets the residual of this rank: to zeroes, or to a residual that was copied before. */
    void reset() { live().done(ncoll_compressor_reset(compressor_, nullptr)); }
    void reset(const_buffer to)
    {
        whole(to);
        live().done(ncoll_compressor_reset(compressor_, to.data()));
    }

    /** Compressed allreduce, a sum; see ncoll_allreduce_compressed(). */
    void allreduce(const_buffer in, buffer out) { (void)allreduce(in, out, block); }
    [[nodiscard]] bool allreduce(const_buffer in, buffer out, timeout t)
    {
        group::same(in, out, 1);
        detail::state &s = live();
        return s.done(ncoll_allreduce_compressed(group_, compressor_, in.data(), out.data(),
                                                 in.size(), in.type_number(), NCOLL_SUM, t.ns()));
    }
    [[nodiscard]] request allreduce_start(const_buffer in, buffer out)
    {
        return reduced(ncoll_allreduce_compressed_start, in, out, false);
    }
    [[nodiscard]] request allreduce_init(const_buffer in, buffer out)
    {
        return reduced(ncoll_allreduce_compressed_init, in, out, true);
    }

    /** Compressed bcast; `in` is read on the root only, and may be `{}` elsewhere. */
    void bcast(const_buffer in, buffer out, int root) { (void)bcast(in, out, root, block); }
    [[nodiscard]] bool bcast(const_buffer in, buffer out, int root, timeout t)
    {
        detail::state &s = live();
        return s.done(ncoll_bcast_compressed(group_, compressor_, in.data(), out.data(), out.size(),
                                             out.type_number(), root, t.ns()));
    }
    [[nodiscard]] request bcast_start(const_buffer in, buffer out, int root)
    {
        return sent(ncoll_bcast_compressed_start, in, out, root, false);
    }
    [[nodiscard]] request bcast_init(const_buffer in, buffer out, int root)
    {
        return sent(ncoll_bcast_compressed_init, in, out, root, true);
    }

  private:
    detail::state &live() const
    {
        detail::state &s = detail::of(state_);
        if (compressor_ == nullptr)
            throw error(NCOLL_ERR_HANDLE, "the compressor is freed", "");
        return s;
    }

    void whole(const const_buffer &b) const
    {
        if (b.size() != count_ || b.type_number() != type_)
            detail::refuse("a residual has as many elements, of the same type, as the compressor",
                           "give a buffer of that length and type");
    }

    template <class F> request reduced(F f, const_buffer in, buffer out, bool persistent)
    {
        ncoll_request *made = nullptr;

        group::same(in, out, 1);
        detail::state &s = live();
        s.done(f(group_, compressor_, in.data(), out.data(), in.size(), in.type_number(),
                 ncoll_op{NCOLL_SUM}, &made));
        return request(state_, made, persistent);
    }

    template <class F> request sent(F f, const_buffer in, buffer out, int root, bool persistent)
    {
        ncoll_request *made = nullptr;
        detail::state &s = live();

        s.done(f(group_, compressor_, in.data(), out.data(), out.size(), out.type_number(), root,
                 &made));
        return request(state_, made, persistent);
    }

    /* A compressor that is in use is freed with the context. */
    void release() noexcept
    {
        if (compressor_ != nullptr && state_ != nullptr && state_->ctx != nullptr)
            (void)ncoll_compressor_free(&compressor_);
        compressor_ = nullptr;
    }

    detail::shared state_;
    ncoll_group *group_ = nullptr;
    ncoll_compressor *compressor_ = nullptr;
    std::size_t count_ = 0;
    ncoll_type type_ = 0;
};

} // namespace ncoll

#endif
