/* SPDX-License-Identifier: BSD-3-Clause */
/* Which network a job uses, of those that its nodes have; and what NCOLL_GID asks for. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/verbs/network.h"

#define NODES_MOST    4
#define NETWORKS_MOST 4

/* ------------------------------------------------------------------ networks ----------------- */

/* Reads a network, as in "ib fe80:0:0:1::/64 200", "v4 10.1.0.0/16 100 soft" or "v6 -", with the rate. */
static struct network network_of(const char *text)
{
    char kind[8], prefix[48], more[16] = "";
    unsigned gbit = 0, bits = 0;
    struct network n = {.number = 1, .pkey = 0xffff};
    char mapped[64];

    assert_true(sscanf(text, "%7s %47s %u %15s", kind, prefix, &gbit, more) >= 3);
    n.kind = strcmp(kind, "ib") == 0   ? GID_IB
             : strcmp(kind, "v4") == 0 ? GID_ROCE2_IPV4
             : strcmp(kind, "v6") == 0 ? GID_ROCE2_IPV6
                                       : GID_ROCE2_LINK_LOCAL;
    n.mbit_per_s = gbit * 1000;
    n.is_soft = strcmp(more, "soft") == 0;
    if (strncmp(more, "0x", 2) == 0)
        n.pkey = (uint16_t)strtoul(more, NULL, 16);
    if (*prefix != '-') {
        char *slash = strchr(prefix, '/');
        *slash = '\0';
        bits = (unsigned)atoi(slash + 1);
        snprintf(mapped, sizeof mapped, "%s%s", n.kind == GID_ROCE2_IPV4 ? "::ffff:" : "", prefix);
        assert_int_equal(inet_pton(AF_INET6, mapped, n.prefix), 1);
        n.bits = bits + (n.kind == GID_ROCE2_IPV4 ? 96 : 0);
    }
    snprintf(n.port, sizeof n.port, "mlx5_0");
    return n;
}

static const struct job {
    const char *nodes[NODES_MOST][NETWORKS_MOST];
    const char *chosen; /* NULL: there is none */
    bool routed;
} jobs[] = {
    /* the fastest that all have */
    {{{"ib fe80:0:0:1::/64 200", "v4 10.0.0.0/16 100"}, {"v4 10.0.0.0/16 100"}},
     "v4 10.0.0.0/16 100",
     false},
    {{{"ib fe80:0:0:1::/64 200", "v4 10.0.0.0/16 100"},
      {"v4 10.0.0.0/16 100", "ib fe80:0:0:1::/64 200"}},
     "ib fe80:0:0:1::/64 200",
     false},
    /* the slowest port of a network counts */
    {{{"v4 10.1.0.0/16 400", "v4 10.2.0.0/16 100"}, {"v4 10.1.0.0/16 25", "v4 10.2.0.0/16 100"}},
     "v4 10.2.0.0/16 100",
     false},
    /* of two alike the lower one, whatever their order */
    {{{"v4 10.2.0.0/16 100", "v4 10.1.0.0/16 100"}, {"v4 10.1.0.0/16 100", "v4 10.2.0.0/16 100"}},
     "v4 10.1.0.0/16 100",
     false},
    {{{"ib fe80:0:0:2::/64 200", "ib fe80:0:0:1::/64 200"}, {"ib fe80:0:0:2::/64 200"}},
     "ib fe80:0:0:2::/64 200",
     false},
    /* a network that all are on, before one with a router; a router, before nothing */
    {{{"v4 10.1.0.0/16 400", "v4 10.9.0.0/16 25"}, {"v4 10.2.0.0/16 400", "v4 10.9.0.0/16 25"}},
     "v4 10.9.0.0/16 25",
     false},
    {{{"v4 10.1.0.0/16 100"}, {"v4 10.2.0.0/16 100"}}, "v4 10.1.0.0/16 100", true},
    {{{"ib fe80:0:0:1::/64 200"}, {"ib fe80:0:0:2::/64 200"}}, "ib fe80:0:0:1::/64 200", true},
    {{{"ll fe80::/64 100", "v4 10.1.0.0/16 100"}, {"ll fe80::/64 100", "v4 10.2.0.0/16 100"}},
     "v4 10.1.0.0/16 100",
     true},
    {{{"v6 fd00::/64 100"}, {"ll fe80::/64 100"}}, NULL, false},
    {{{"v6 - 100"}, {"ll - 100"}}, NULL, false},
    /* hardware behind a router, before software on one subnet */
    {{{"v4 10.1.0.0/24 400", "v4 192.168.0.0/16 1 soft"},
      {"v4 10.2.0.0/24 400", "v4 192.168.0.0/16 1 soft"}},
     "v4 10.1.0.0/24 400",
     true},
    /* subnets that are not known, and after those that are */
    {{{"v4 - 100", "v4 10.1.0.0/16 100"}, {"v4 10.1.0.0/16 100", "v4 - 100"}},
     "v4 10.1.0.0/16 100",
     false},
    {{{"v4 - 100"}, {"v4 10.1.0.0/16 100"}}, "v4 - 100", false},
    /* hardware before software; addresses that reach a router */
    {{{"v4 10.1.0.0/16 10", "v4 10.2.0.0/16 100 soft"},
      {"v4 10.1.0.0/16 10", "v4 10.2.0.0/16 100 soft"}},
     "v4 10.1.0.0/16 10",
     false},
    {{{"ll - 100", "v4 10.1.0.0/16 10"}, {"ll - 100", "v4 10.1.0.0/16 10"}},
     "v4 10.1.0.0/16 10",
     false},
    /* partitions */
    {{{"ib fe80:0:0:1::/64 200 0x8001"}, {"ib fe80:0:0:1::/64 200 0x0001"}},
     "ib fe80:0:0:1::/64 200 0x8001",
     false},
    {{{"ib fe80:0:0:1::/64 200 0x0001"}, {"ib fe80:0:0:1::/64 200 0x8001"}},
     "ib fe80:0:0:1::/64 200 0x8001",
     false},
    {{{"ib fe80:0:0:1::/64 200 0x8001"}, {"ib fe80:0:0:1::/64 200 0x8002"}}, NULL, false},
    {{{"ib fe80:0:0:1::/64 200 0x8001"},
      {"ib fe80:0:0:1::/64 200 0x0001"},
      {"ib fe80:0:0:1::/64 200 0x0001"}},
     NULL,
     false},
    /* a partition of which all are full members, before a faster port that is a limited one */
    {{{"ib fe80:0:0:1::/64 200 0xffff", "ib fe80:0:0:1::/64 200 0x8002"},
      {"ib fe80:0:0:1::/64 200 0x7fff", "ib fe80:0:0:1::/64 200 0x8002"}},
     "ib fe80:0:0:1::/64 200 0x8002",
     false},
    {{{"ib fe80:0:0:1::/64 100", "ib fe80:0:0:1::/64 200 0x7fff"},
      {"ib fe80:0:0:1::/64 200 0x7fff", "ib fe80:0:0:1::/64 100"}},
     "ib fe80:0:0:1::/64 100",
     false},
    /* nothing */
    {{{"ib fe80:0:0:1::/64 200"}, {"v4 10.0.0.0/16 100"}}, NULL, false},
    {{{"v4 10.0.0.0/16 100"}, {"v6 fd00::/64 100"}}, NULL, false},
    /* three nodes, of which two share what the third does not have */
    {{{"ib fe80:0:0:1::/64 200", "v4 10.0.0.0/16 25"},
      {"ib fe80:0:0:1::/64 200", "v4 10.0.0.0/16 25"},
      {"v4 10.0.0.0/16 25"}},
     "v4 10.0.0.0/16 25",
     false},
};

static void check(const struct job *j, unsigned first)
{
    struct network lists[NODES_MOST][NETWORKS_MOST];
    struct node_networks nodes[NODES_MOST] = {0};
    const struct node_networks *a, *b;
    struct network_choice choice;
    unsigned n = 0;

    while (n < NODES_MOST && j->nodes[n][0] != NULL)
        n++;
    for (unsigned i = 0; i < n; i++) {
        unsigned from = (i + first) % n, k = 0;
        for (; k < NETWORKS_MOST && j->nodes[from][k] != NULL; k++)
            lists[i][k] = network_of(j->nodes[from][k]);
        nodes[i] = (struct node_networks){lists[i], k, (int)from};
    }
    bool found = ncoll__network_choose(nodes, n, &choice, &a, &b);
    assert_int_equal(found, j->chosen != NULL);
    if (!found) {
        assert_ptr_not_equal(a, b);
        return;
    }
    for (unsigned i = 0; i < n; i++) { /* every node has a port in it */
        bool any = false;
        for (unsigned k = 0; k < nodes[i].n; k++)
            any |= ncoll__networks_meet(&nodes[i].list[k], &choice.network, choice.routed);
        assert_true(any);
    }
    struct network expected = network_of(j->chosen);
    assert_int_equal(choice.routed, j->routed);
    assert_int_equal(choice.network.kind, expected.kind);
    if (expected.kind == GID_IB)
        assert_int_equal(choice.network.pkey, expected.pkey);
    /* whoever is asked first, all are on the network that is chosen */
    if (!j->routed && expected.bits > 0)
        assert_memory_equal(choice.network.prefix, expected.prefix, sizeof expected.prefix);
}

static void test_choice(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (unsigned first = 0; first < 2; first++)
            check(&jobs[i], first);
}

static void test_text(void **state)
{
    struct network n = network_of("v4 10.1.0.0/16 100");
    char text[NETWORK_TEXT];

    (void)state;
    assert_string_equal(ncoll__network_text(&n, text),
                        "RoCE v2, IPv4, 10.1.0.0/16 (mlx5_0 port 1)");
    n = network_of("ib fe80:0:0:1::/64 200 0x8011");
    assert_string_equal(ncoll__network_text(&n, text),
                        "InfiniBand, fe80:0:0:1::/64, partition 0x8011 (mlx5_0 port 1)");
}

/* ------------------------------------------------------------------ addresses ---------------- */

static void test_gids(void **state)
{
    static const struct {
        const char *wish;
        int fits; /* -1: it cannot be read */
    } wishes[] = {{"", 1},
                  {"3", 1},
                  {"-1", 1},
                  {"2", 0},
                  {"eth1", 1},
                  {"eth2", 0},
                  {"roce2", 1},
                  {"roce1", 0},
                  {"10.1.0.0/16", 1},
                  {"10.2.0.0/16", 0},
                  {"10.1.2.3", 1},
                  {"10.1.2.4", 0},
                  {"0.0.0.0/0", 1},
                  {"fd00::/8", 0},
                  {"::/0", 1},
                  {"eth1,roce2,10.1.0.0/16", 1},
                  {"eth1,roce1", 0},
                  {"10.1.0.0/33", -1},
                  {"10.1.0/16", -1},
                  {"10.1.0.0/", -1},
                  {"a,,b", -1},
                  {",", -1},
                  {"eth1,", -1},
                  {"-2", -1},
                  {"65536", -1},
                  {"3,2", -1},
                  {"roce1,roce2", -1},
                  {"10.0.0.0/8,10.1.0.0/16", -1},
                  {"an-interface-with-a-long-name", -1}};
    struct candidate c = {.gid_index = 3, .kind = GID_ROCE2_IPV4, .interface = "eth1"};

    (void)state;
    assert_int_equal(inet_pton(AF_INET6, "::ffff:10.1.2.3", &c.gid), 1);
    for (unsigned i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        struct gid_wish wish;
        bool read = ncoll__gid_wish_read(wishes[i].wish, &wish);
        if (read != (wishes[i].fits >= 0) || (read && ncoll__gid_fits(&wish, &c) != wishes[i].fits))
            fail_msg("\"%s\": read %d", wishes[i].wish, read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_gids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
