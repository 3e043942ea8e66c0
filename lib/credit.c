/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/credit.h"

#define REMEMBERED 64u /* calls in `synchronising` */
_Static_assert(CREDIT_SETS < REMEMBERED && CREDIT_CALLS <= CREDIT_SETS, "see knows_at_start()");

static uint64_t bit(uint64_t e)
{
    return UINT64_C(1) << e % REMEMBERED;
}

void ncoll__credit_on_start(struct credits *c, uint64_t e, bool synchronises)
{
    c->synchronising = synchronises ? c->synchronising | bit(e) : c->synchronising & ~bit(e);
}

void ncoll__credit_on_finish(struct credits *c, uint64_t e, bool synchronises)
{
    if (synchronises && e > c->synced)
        c->synced = e;
    for (c->ahead |= UINT64_C(1) << (e - c->finished - 1); c->ahead & 1; c->ahead >>= 1)
        c->finished++;
}

/* Whether rank q knows at the start of e, whatever messages are still under way, that this one has
 * finished e - K: of the synchronising calls that it has finished by then, only the latest say so.
 */
static bool knows_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    if (e <= CREDIT_SETS + c->told[q])
        return true;
    for (uint64_t s = e - CREDIT_CALLS; s + CREDIT_SETS >= e + CREDIT_CALLS; s--)
        if (c->synchronising & bit(s))
            return true;
    return false;
}

uint64_t ncoll__credit_due_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    return knows_at_start(c, q, e) ? 0 : c->finished;
}

uint64_t ncoll__credit_due_at_end(const struct credits *c, unsigned q, uint64_t e)
{
    bool knows_enough = c->told[q] + CREDIT_SETS / 2 >= e ||
                        c->synced + CREDIT_SETS / 2 >= e + CREDIT_CALLS ||
                        c->finished <= c->told[q];
    return knows_enough ? 0 : c->finished;
}

void ncoll__credit_on_sent(struct credits *c, unsigned q, uint64_t number)
{
    if (number > c->told[q])
        c->told[q] = number;
}

void ncoll__credit_on_credit(struct credits *c, unsigned q, uint64_t number)
{
    if (number > c->heard[q])
        c->heard[q] = number;
}
