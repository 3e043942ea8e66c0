/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule that picks an RDMA device, port and GID, on machines made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "transport/verbs/device.h"

static const struct device_wish anything = {.gid.index = -1};

static struct candidate make(const char *device, int port, int gid_index, enum gid_kind kind)
{
    struct candidate c = {
        .port = port, .gid_index = gid_index, .kind = kind, .state = IBV_PORT_ACTIVE};

    snprintf(c.device, sizeof c.device, "%s", device);
    return c;
}

static void expect(struct candidate *list, unsigned n, const struct device_wish *wish, int chosen)
{
    const struct candidate *best = ncoll__device_choose(list, n, wish);

    if (chosen < 0)
        assert_null(best);
    else
        assert_ptr_equal(best, &list[chosen]);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(list[i].chosen, (int)i == chosen);
        assert_true(list[i].why[0] != '\0');
    }
}

static void test_ipv4_first(void **state)
{
    struct candidate list[] = {
        make("mlx5_0", 1, 0, GID_ROCE1),      make("mlx5_0", 1, 1, GID_ROCE2_LINK_LOCAL),
        make("mlx5_0", 1, 2, GID_ROCE2_IPV6), make("mlx5_0", 1, 3, GID_ROCE2_IPV4),
        make("mlx5_1", 1, 3, GID_ROCE2_IPV4),
    };

    (void)state;
    expect(list, 5, &anything, 3);
    assert_non_null(strstr(list[0].why, "RoCE v1"));
    assert_non_null(strstr(list[1].why, "IPv4 is preferred"));
    assert_non_null(strstr(list[4].why, "comes first"));
}

static void test_near(void **state)
{
    struct candidate list[] = {
        make("mlx5_0", 1, 0, GID_IB),
        make("mlx5_1", 1, 0, GID_IB),
    };

    (void)state;
    list[0].far = true;
    expect(list, 2, &anything, 1);
    assert_non_null(strstr(list[0].why, "nearer"));
}

/* A far port with an address beats a near one that has not been set up. */
static void test_masks_of_cores(void **state)
{
    const unsigned long four[] = {0xf0, 0}, far[] = {0, 1}, all[] = {~0ul, ~0ul};
    bool any;

    (void)state;
    assert_true(ncoll__cores_meet("ff\n", four, 128, &any) && any);
    assert_false(ncoll__cores_meet("f", four, 128, &any));
    assert_true(ncoll__cores_meet("00000000,00000010", four, 128, &any));
    assert_false(ncoll__cores_meet("00000010,00000000", four, 128, &any));
    assert_true(ncoll__cores_meet("1,00000000,00000000", far, 128, &any));
    assert_false(ncoll__cores_meet("1,00000000,00000000", four, 128, &any) || !any);
    assert_false(ncoll__cores_meet("00000000,00000000", all, 128, &any) || any);
    assert_false(ncoll__cores_meet("A,00000000,00000000,00000000,00000000", all, 128, &any) ||
                 !any);
    assert_false(ncoll__cores_meet("", all, 128, &any) || any);
}

static void test_link_local_last(void **state)
{
    struct candidate list[] = {
        make("mlx5_0", 1, 0, GID_ROCE2_LINK_LOCAL),
        make("mlx5_1", 1, 1, GID_ROCE2_IPV4),
    };

    (void)state;
    list[1].far = true;
    expect(list, 2, &anything, 1);
    list[1].chosen = false;
    list[1].state = IBV_PORT_DOWN;
    expect(list, 2, &anything, 0);
    assert_string_equal(list[1].why, "the port is down");
}

static void test_unusable(void **state)
{
    struct candidate list[] = {
        make("mlx5_0", 1, -1, GID_NONE),
        make("mlx5_0", 2, 0, GID_ROCE2_IPV4),
        make("mlx5_1", 0, -1, GID_NONE),
        make("mlx5_2", 1, 0, GID_ROCE1),
    };

    (void)state;
    list[1].no_handle = 113; /* EHOSTUNREACH */
    snprintf(list[2].why, sizeof list[2].why, "cannot open it");
    expect(list, 4, &anything, -1);
    assert_non_null(strstr(list[1].why, "address handle"));
    assert_string_equal(list[2].why, "cannot open it");
}

static void test_wishes(void **state)
{
    struct candidate model[] = {
        make("mlx5_0", 1, 0, GID_ROCE1),
        make("mlx5_0", 1, 3, GID_ROCE2_IPV4),
        make("mlx5_1", 1, 3, GID_ROCE2_IPV4),
        make("mlx5_1", 2, 3, GID_ROCE2_IPV4),
    };
    const struct {
        struct device_wish wish;
        int chosen;
    } cases[] = {
        {{"mlx5_1", 0, {-1}}, 2},
        {{NULL, 2, {-1}}, 3},
        {{NULL, 0, {0}}, 0},
        {{"mlx5_9", 0, {-1}}, -1},
        {{"mlx5_0", 2, {-1}}, -1},
        {{"mlx5_1", 2, {3}}, 3},
        {{"mlx5_1:2", 0, {-1}}, 3},
        {{"mlx5", 0, {-1}}, 1},
        {{"^mlx5_0", 0, {-1}}, 2},
        {{"rxe0,mlx5_1:2", 0, {-1}}, 3},
        {{"^mlx5_0,mlx5_1:1", 0, {-1}}, 3},
        {{"^mlx5", 0, {-1}}, -1},
        {{"mlx5_0:2", 0, {-1}}, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct candidate list[4];
        memcpy(list, model, sizeof list);
        expect(list, 4, &cases[i].wish, cases[i].chosen);
    }
}

/* The rate counts more than the kind of the network, and than nearness. */
static void test_rate(void **state)
{
    struct candidate list[] = {
        make("mlx5_bond_0", 1, 3, GID_ROCE2_IPV4),
        make("mlx5_2", 1, 0, GID_IB),
        make("mlx5_3", 1, 0, GID_IB),
    };

    (void)state;
    list[0].mbit_per_s = 25000;
    list[1].mbit_per_s = 200000;
    list[2].mbit_per_s = 100000;
    list[1].far = true;
    expect(list, 3, &anything, 1);
    assert_non_null(strstr(list[0].why, "mlx5_2 has 200 Gbit/s, this port 25"));
}

/* Software RoCE has the rate of its network interface. */
static void test_soft(void **state)
{
    struct candidate list[] = {
        make("rxe0", 1, 1, GID_ROCE2_IPV4),
        make("mlx5_0", 1, 0, GID_IB),
    };

    (void)state;
    list[0].mbit_per_s = 200000;
    list[1].mbit_per_s = 100000;
    list[0].is_soft = true;
    expect(list, 2, &anything, 1);
    assert_non_null(strstr(list[0].why, "software"));
}

/* Ranks choose the same one of two networks, in whatever order their nodes have the devices. */
static void test_subnets(void **state)
{
    struct candidate list[] = {
        make("mlx5_0", 1, 0, GID_IB),
        make("mlx5_1", 1, 0, GID_IB),
    };

    (void)state;
    list[0].subnet_prefix = 0xfe80000000000002;
    list[1].subnet_prefix = 0xfe80000000000001;
    list[1].far = true; /* for this rank, but not for all */
    expect(list, 2, &anything, 1);
    assert_non_null(strstr(list[0].why, "lower subnet prefix"));
}

static void expect_pkey(const uint16_t *pkeys, unsigned n, int wish, int index)
{
    struct candidate c = make("mlx5_0", 1, 0, GID_IB);
    const struct device_wish wishes = {.gid.index = -1, .pkey = wish};

    c.pkeys = pkeys;
    c.n_pkeys = n;
    expect(&c, 1, &wishes, index < 0 ? -1 : 0);
    if (index >= 0)
        assert_int_equal(c.pkey_index, index);
    if (index >= 0)
        assert_int_equal(c.pkey, pkeys[index]);
    else
        assert_non_null(strstr(c.why, "partition key"));
}

/* Limited members of a partition do not reach each other. */
static void test_partitions(void **state)
{
    static const uint16_t pkeys[] = {0x7fff, 0, 0x0011, 0x8011, 0x8012};

    (void)state;
    expect_pkey(pkeys, 5, 0, 3);
    expect_pkey(pkeys, 3, 0, 0);
    expect_pkey(pkeys, 5, 0x8012, 4);
    expect_pkey(pkeys, 5, 0x0011, 3);
    expect_pkey(pkeys, 5, 0x7fff, 0);
    expect_pkey(pkeys, 5, 0x8013, -1);
}

static void test_lacks(void **state)
{
    struct candidate list[] = {
        make("efa_0", 1, 0, GID_IB),
        make("irdma0", 1, 0, GID_ROCE2_IPV4),
        make("mlx5_0", 1, 0, GID_ROCE2_IPV4),
    };

    (void)state;
    list[0].lacks = LACKS_RC;
    list[1].lacks = LACKS_WRITE_WITH_IMMEDIATE;
    expect(list, 3, &anything, 2);
    assert_non_null(strstr(list[0].why, "no reliable connections"));
    assert_non_null(strstr(list[1].why, "write with immediate"));
}

/* "mlx5_1" is the device of this name, and not also mlx5_10. */
static void test_names(void **state)
{
    static const char *const well[] = {"mlx5_0", "mlx5_0:1", "mlx5_0:1,mlx5_2", "^a,b:2"};
    static const char *const bad[] = {"mlx5_0:", "mlx5_0:0", "mlx5_0:x", ":1",
                                      "a,,b",    "a,",       "a:256"};
    struct candidate list[] = {
        make("mlx5_10", 1, 0, GID_IB),
        make("mlx5_1", 1, 0, GID_IB),
    };
    const struct device_wish wish = {.device = "mlx5_1", .gid.index = -1};

    (void)state;
    expect(list, 2, &wish, 1);
    for (size_t i = 0; i < sizeof well / sizeof well[0]; i++)
        assert_true(ncoll__device_list_is_well(well[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ncoll__device_list_is_well(bad[i]));
}

/* Ranks of a node take turns on ports of one network that are as good as each other, each port once. */
static void test_turns(void **state)
{
    const struct candidate model[] = {
        make("mlx5_0", 1, 0, GID_IB), make("mlx5_0", 1, 1, GID_IB),
        make("mlx5_1", 1, 0, GID_IB), make("mlx5_1", 2, 0, GID_IB),
        make("mlx5_2", 1, 0, GID_IB), make("rxe0", 1, 0, GID_ROCE2_IPV6),
    };
    static const int turns[] = {0, 2, 3, 0, 2};

    (void)state;
    for (unsigned r = 0; r < sizeof turns / sizeof turns[0]; r++) {
        struct device_wish wish = {.gid.index = -1, .local_rank = r};
        struct candidate list[6];
        memcpy(list, model, sizeof list);
        list[4].subnet_prefix = 1; /* another network */
        list[5].mbit_per_s = 0;
        list[5].state = IBV_PORT_DOWN;
        expect(list, 6, &wish, turns[r]);
    }
}

/* RoCE ports may be on networks that do not meet, and so may InfiniBand ports with the default subnet
 * prefix, unless the user names them, and those in different partitions. */
static void test_no_turns(void **state)
{
    static const uint16_t one[] = {0x8001}, other[] = {0x8002};
    struct device_wish second = {.gid.index = -1, .local_rank = 1};
    struct candidate list[] = {
        make("mlx5_0", 1, 3, GID_ROCE2_IPV4),
        make("mlx5_1", 1, 3, GID_ROCE2_IPV4),
    };

    (void)state;
    expect(list, 2, &second, 0);
    for (unsigned i = 0; i < 2; i++) {
        list[i] = make(i == 0 ? "mlx5_0" : "mlx5_1", 1, 0, GID_IB);
        list[i].subnet_prefix = 0xfe80000000000000;
    }
    expect(list, 2, &second, 0);
    second.device = "mlx5";
    list[0].chosen = false;
    expect(list, 2, &second, 1);
    for (unsigned i = 0; i < 2; i++) {
        list[i].chosen = false;
        list[i].pkeys = i == 0 ? one : other;
        list[i].n_pkeys = 1;
    }
    expect(list, 2, &second, 0);
}

static void test_who_meets_whom(void **state)
{
    (void)state;
    for (enum gid_kind kind = GID_ROCE2_IPV4; kind < GID_NONE; kind++)
        assert_true(ncoll__gid_kinds_meet(kind, kind));
    assert_true(ncoll__gid_kinds_meet(GID_ROCE2_LINK_LOCAL, GID_ROCE2_IPV6));
    assert_false(ncoll__gid_kinds_meet(GID_ROCE2_IPV4, GID_ROCE2_IPV6));
    assert_false(ncoll__gid_kinds_meet(GID_ROCE1, GID_ROCE2_IPV4));
    assert_false(ncoll__gid_kinds_meet(GID_IB, GID_ROCE1));
}

/* The second card is another device, and ranks of a node share cards as little as possible: with four cards,
 * two ranks take 0 and 1 first, then 2 and 3. */
static void test_second_card(void **state)
{
    static const char *const first[] = {"mlx5_0", "mlx5_1"};
    struct candidate list[4];
    char name[] = "mlx5_0";

    (void)state;
    for (unsigned r = 0; r < 2; r++) {
        struct device_wish wish = {
            .gid.index = -1, .device = "mlx5", .local_rank = r + 2 - 1, .other_than = first[r]};
        for (unsigned i = 0; i < 4; i++) {
            name[5] = (char)('0' + i);
            list[i] = make(name, 1, 0, GID_IB);
        }
        expect(list, 4, &wish, (int)(2 + r));
        assert_non_null(strstr(list[r].why, "first card"));
    }
    list[0] = make("mlx5_0", 1, 0, GID_IB);
    expect(list, 1, &(struct device_wish){.gid.index = -1, .other_than = "mlx5_0"}, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipv4_first),     cmocka_unit_test(test_near),
        cmocka_unit_test(test_masks_of_cores), cmocka_unit_test(test_link_local_last),
        cmocka_unit_test(test_unusable),       cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_who_meets_whom), cmocka_unit_test(test_rate),
        cmocka_unit_test(test_soft),           cmocka_unit_test(test_subnets),
        cmocka_unit_test(test_partitions),     cmocka_unit_test(test_lacks),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_turns),
        cmocka_unit_test(test_no_turns),       cmocka_unit_test(test_second_card),
    };

    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
