/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of devices: what examining them finds, and the way of a table to other processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/soft_device.h"
#include "transport/verbs/device_table.h"

/* Two devices, of which the first cannot be opened. */
static void fill(struct device_table *t)
{
    *t = (struct device_table){0};
    ncoll__table_add_device(t, (struct device_row){.name = "mlx5_0", .error = 13, .numa_node = -1},
                            "");
    ncoll__table_add_device(t, (struct device_row){.name = "mlx5_1", .numa_node = 1},
                            "ff00,00000000");
    for (uint32_t port = 1; port <= 2; port++) {
        ncoll__table_add_port(t, (struct port_row){.number = port,
                                                   .state = IBV_PORT_ACTIVE,
                                                   .link_layer = IBV_LINK_LAYER_INFINIBAND,
                                                   .subnet_prefix = 0xfe80u + port,
                                                   .mbit_per_s = 200000,
                                                   .n_pkeys = 1,
                                                   .pkeys = {0x8001},
                                                   .lid = 7});
        for (int32_t i = 0; i < (int32_t)port; i++)
            ncoll__table_add_gid(t,
                                 (struct gid_row){.index = i, .kind = GID_IB, .interface = "ib0"});
    }
    assert_false(ncoll__table_failed(t));
}

static void expect_filled(const struct device_table *t)
{
    assert_int_equal(table_n_devices(t), 2);
    assert_int_equal(ncoll__table_find(t, "mlx5_1"), 1);
    assert_int_equal(ncoll__table_find(t, "mlx5_2"), -1);
    const struct device_row *one = table_device(t, 0), *other = table_device(t, 1);
    assert_int_equal(one->error, 13);
    assert_int_equal(one->n_ports, 0);
    assert_string_equal(table_cores(t, one), "");
    assert_int_equal(other->numa_node, 1);
    assert_string_equal(table_cores(t, other), "ff00,00000000");
    assert_int_equal(other->n_ports, 2);
    for (uint32_t p = 0; p < 2; p++) {
        const struct port_row *port = table_port(t, other->first_port + p);
        assert_int_equal(port->number, p + 1);
        assert_int_equal(port->subnet_prefix, 0xfe80u + p + 1);
        assert_int_equal(port->mbit_per_s, 200000);
        assert_int_equal(port->n_gids, p + 1);
        for (uint32_t i = 0; i <= p; i++) {
            assert_int_equal(table_gid(t, port->first_gid + i)->index, i);
            assert_string_equal(table_gid(t, port->first_gid + i)->interface, "ib0");
        }
    }
}

static void test_there_and_back(void **state)
{
    struct device_table table, copy, none = {0};
    struct blob bytes = {0}, nothing = {0};

    (void)state;
    fill(&table);
    expect_filled(&table);
    ncoll__table_write(&table, &bytes);
    assert_true(ncoll__table_read(&copy, bytes.bytes, bytes.len));
    expect_filled(&copy);
    ncoll__table_free(&table);
    ncoll__table_free(&copy);
    ncoll__table_write(&none, &nothing);
    assert_true(ncoll__table_read(&copy, nothing.bytes, nothing.len));
    assert_int_equal(table_n_devices(&copy), 0);
    ncoll__table_free(&copy);
    ncoll__blob_free(&bytes);
    ncoll__blob_free(&nothing);
}

/* Bytes that are cut off, or that have a wrong word, are refused, or give a table that refers to
 * nothing outside of it (which the sanitizers watch). */
static void test_damaged(void **state)
{
    struct device_table table, copy;
    struct blob bytes = {0};
    unsigned refused = 0;

    (void)state;
    fill(&table);
    ncoll__table_write(&table, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        unsigned char *cut = malloc(len + 1);
        memcpy(cut, bytes.bytes, len);
        assert_false(ncoll__table_read(&copy, cut, len));
        free(cut);
    }
    for (size_t at = 0; at + 4 <= bytes.len; at += 4) {
        uint32_t right, wrong = 0xfffffff3u;
        memcpy(&right, bytes.bytes + at, sizeof right);
        memcpy(bytes.bytes + at, &wrong, sizeof wrong);
        if (!ncoll__table_read(&copy, bytes.bytes, bytes.len))
            refused++;
        for (unsigned d = 0; d < table_n_devices(&copy); d++) {
            const struct device_row *row = table_device(&copy, d);
            assert_true(strlen(row->name) < sizeof row->name);
            assert_true(strlen(table_cores(&copy, row)) < bytes.len);
            for (unsigned p = 0; p < row->n_ports; p++) {
                const struct port_row *port = table_port(&copy, row->first_port + p);
                for (unsigned i = 0; i < port->n_gids; i++)
                    assert_true(table_gid(&copy, port->first_gid + i)->kind <= GID_NONE);
            }
        }
        ncoll__table_free(&copy);
        memcpy(bytes.bytes + at, &right, sizeof right);
    }
    assert_true(refused >= 4 + 3 * 2 + 2 * 2 + 3 * 1); /* sizes, and what refers to rows; kinds */
    ncoll__table_free(&table);
    ncoll__blob_free(&bytes);
}

static void test_examined(void **state)
{
    struct device_table table;
    struct blob bytes = {0};

    (void)state;
    soft_reset();
    soft.devices = 3;
    soft.locked = 1;
    soft.down = 4;
    assert_true(ncoll__verbs_examine(&bytes));
    assert_true(ncoll__table_read(&table, bytes.bytes, bytes.len));
    assert_int_equal(soft.objects, 0);
    assert_int_equal(soft_opens(), 3);
    assert_int_equal(table_n_devices(&table), 3);
    assert_int_equal(table_device(&table, 0)->error, 13); /* EACCES */
    assert_int_equal(table_device(&table, 0)->n_ports, 0);
    for (unsigned d = 1; d < 3; d++) {
        const struct device_row *row = table_device(&table, d);
        assert_int_equal(row->error, 0);
        assert_int_equal(row->n_ports, 1);
        const struct port_row *port = table_port(&table, row->first_port);
        assert_int_equal(port->number, 1);
        assert_int_equal(port->state, d == 1 ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
        assert_int_equal(port->link_layer, IBV_LINK_LAYER_ETHERNET);
        assert_int_equal(port->mbit_per_s, 100000);
        assert_int_equal(port->n_pkeys, 1);
        assert_int_equal(port->pkeys[0], 0xffff);
        assert_int_equal(port->n_gids, 1);
        const struct gid_row *gid = table_gid(&table, port->first_gid);
        assert_int_equal(gid->kind, GID_ROCE2_IPV4);
        assert_int_equal(gid->gid.raw[15], d + 1);
        assert_int_equal(gid->no_handle, 0);
    }
    ncoll__table_free(&table);
    ncoll__blob_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_examined),
    };

    return cmocka_run_group_tests_name("device_table", tests, NULL, NULL);
}
