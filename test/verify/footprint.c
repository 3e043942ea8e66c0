/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's footprint: what a schedule has used has to be what it says that it needs.
 */
#include "test/verify/model.h"

void model_note_message(struct footprint *used, unsigned slots, size_t count)
{
    used->slots = slots > used->slots ? slots : used->slots;
    used->message = count > used->message ? count : used->message;
}

static void join(struct footprint *all, const struct footprint *one)
{
    model_note_message(all, one->slots, one->message);
    all->scratch = one->scratch > all->scratch ? one->scratch : all->scratch;
    all->sent = one->sent > all->sent ? one->sent : all->sent;
}

static bool fits(const struct footprint *used, const struct footprint *f)
{
    return used->slots <= f->slots && used->scratch <= f->scratch && used->message <= f->message &&
           used->sent <= f->sent;
}

static bool footprint_fault(struct model *m, unsigned rank, const struct footprint *f,
                            const struct footprint *used)
{
    return model_fault(
        m, rank,
        "footprint of %u slots, %zu scratch, %zu message, %zu sent; used %u, %zu, %zu, %zu",
        f->slots, f->scratch, f->message, f->sent, used->slots, used->scratch, used->message,
        used->sent);
}

/* With counts of its own for each block, and in parts, a footprint may be a bound; else it is
 * exact. */
bool model_check_footprint(struct model *m)
{
    const struct schedule *s = m->schedule;
    struct footprint all = {0};

    if (s->footprint.slots > SLOTS_MAX)
        return model_fault(m, 0, "%u slots are more than there are", s->footprint.slots);
    for (unsigned rank = 0; rank < m->P; rank++) {
        struct footprint *used = &m->actors[rank].used;
        if (!m->traced) {
            used->scratch = s->footprint.scratch;
            used->sent = s->footprint.sent;
        }
        join(&all, used);
        if (s->shape.sends == NULL || is_in_parts(&s->shape))
            continue;
        struct shape g = shape_on_rank(&s->shape, rank);
        struct footprint own = s->algorithm->footprint(&g);
        if (!fits(used, &own))
            return footprint_fault(m, rank, &own, used);
    }
    bool exact = s->shape.counts == NULL && !is_in_parts(&s->shape);
    return (fits(&all, &s->footprint) && (!exact || fits(&s->footprint, &all))) ||
           footprint_fault(m, 0, &s->footprint, &all);
}
