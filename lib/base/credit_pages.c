/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a group's credits: it grows with the peers that its plans have. */
#include "lib/base/group.h"

/* Stands for all pages that are not needed. It is never written. */
static struct credit_of nothing[CREDIT_PAGE];

bool ncoll__credits_make(struct ncoll_group *g)
{
    size_t pages = CREDIT_PAGES((size_t)g->size);

    g->credits.pages = ncoll__allocate(g->ctx, pages * sizeof(struct credit_of *));
    for (size_t i = 0; g->credits.pages != NULL && i < pages; i++)
        g->credits.pages[i] = nothing;
    return g->credits.pages != NULL;
}

bool ncoll__credits_reach(struct ncoll_group *g, unsigned rank)
{
    struct credit_of **page = &g->credits.pages[rank / CREDIT_PAGE];

    if (*page != nothing)
        return true;
    struct credit_of *made = ncoll__allocate(g->ctx, sizeof nothing);
    if (made != NULL)
        *page = made;
    return made != NULL;
}

void ncoll__credits_free(struct ncoll_group *g)
{
    size_t pages = CREDIT_PAGES((size_t)g->size);

    for (size_t i = 0; g->credits.pages != NULL && i < pages; i++)
        if (g->credits.pages[i] != nothing)
            ncoll__release(g->ctx, g->credits.pages[i]);
    ncoll__release(g->ctx, g->credits.pages);
    g->credits.pages = NULL;
}
