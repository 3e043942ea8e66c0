/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a tuning table: where it is, what may be there instead, several who write at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "lib/choose/tune_file.h"
#include "test/support/hang.h"

#define WRITERS 6
#define TIMES   15

static struct ncoll_context ctx; /* lends its allocator: malloc */
static char directory[] = "/tmp/ncoll-tune-XXXXXX", path[PATH_MAX];
static char why[TUNE_WHY];

static int setup(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    hang_after(60); /* a file that keeps somebody waiting is a failure */
    snprintf(path, sizeof path, "%s/a/b/tuning", mkdtemp(directory));
    return ncoll__tune_make_directories(path, why) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A table of one section, for so many ranks. */
static bool write_section(unsigned ranks, uint64_t ns)
{
    struct tune_rule rule = {.collective = COLL_BARRIER,
                             .algorithm = ncoll__algorithm_find("dissemination"),
                             .radix = 2,
                             .lanes = 4,
                             .ns = ns};
    struct tune_section section = {.key = {"1", "m", "shm", "-", 1000, ranks, ranks}, .count = 1};
    struct tune_table table = {&section, &rule, 1, 1, 1, 1};

    return ncoll__tune_write(&ctx, path, &table, why);
}

/* Sections in the file; -1: it is not fine. */
static int sections(void)
{
    struct tune_table table;
    size_t len;
    char *text = ncoll__tune_read(&ctx, path, &len, why);

    if (text == NULL)
        return *why == '\0' ? 0 : -1;
    enum tune_fault fault = ncoll__tune_load(&ctx, text, len, &table, why);
    int n = fault == TUNE_FINE ? (int)table.n_sections : -1;
    if (fault == TUNE_FINE)
        ncoll__tune_free(&ctx, &table);
    free(text);
    return n;
}

static void test_where(void **state)
{
    char at[PATH_MAX];

    (void)state;
    setenv("HOME", "/home/a", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    assert_true(ncoll__tune_path("b", at));
    assert_string_equal(at, "b");
    assert_true(ncoll__tune_path(NULL, at));
    assert_string_equal(at, "/cache/ncoll/tuning");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    assert_true(ncoll__tune_path("", at));
    assert_string_equal(at, "/home/a/.cache/ncoll/tuning");
    unsetenv("HOME");
    assert_false(ncoll__tune_path(NULL, at));
}

static void test_write_and_find_again(void **state)
{
    (void)state;
    assert_int_equal(sections(), 0);
    assert_true(write_section(4, 100));
    assert_int_equal(sections(), 1);
    assert_true(write_section(8, 100));
    assert_true(write_section(4, 200));
    assert_int_equal(sections(), 2);
}

/* A file that is no table stays as it is; a table that cannot be used is replaced. */
static void test_what_is_there(void **state)
{
    char name[PATH_MAX + 8];

    (void)state;
    assert_true(write_section(4, 100));
    write_text("somebody's own\n");
    assert_false(write_section(4, 100));
    assert_non_null(strstr(why, "left as it is"));
    assert_int_equal(sections(), -1);
    write_text("ncoll tuning 1\nrubbish\n");
    assert_true(write_section(4, 100));
    assert_int_equal(sections(), 1);
    write_text("");
    assert_true(write_section(4, 100));
    assert_int_equal(sections(), 1);
    snprintf(name, sizeof name, "%s.lock", path);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_false(write_section(4, 100));
    assert_non_null(strstr(why, "lock"));
}

static void make_fifo(void)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_directory(void)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void make_device(void)
{
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void make_loop(void)
{
    assert_int_equal(symlink(path, path), 0);
}

static void make_huge(void)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
}

static bool is_locked(void)
{
    char name[PATH_MAX + 8];

    snprintf(name, sizeof name, "%s.lock", path);
    return access(name, F_OK) == 0;
}

/* Nothing is made where nothing can be written. */
static void test_refused(void **state)
{
    char parent[PATH_MAX];

    (void)state;
    write_text("somebody's own\n");
    assert_false(write_section(4, 100));
    assert_false(is_locked());
    assert_false(ncoll__tune_can_write(&ctx, path, why));
    assert_non_null(strstr(why, "left as it is"));
    snprintf(path, sizeof path, "/proc/self/tuning");
    if (access("/proc/self", W_OK) != 0) { /* who may do anything may do that as well */
        assert_false(ncoll__tune_can_write(&ctx, path, why));
        assert_non_null(strstr(why, "nothing can be written to /proc/self"));
    }
    snprintf(path, sizeof path, "%s/mistaken/tuning", directory);
    assert_false(ncoll__tune_can_write(&ctx, path, why));
    snprintf(parent, sizeof parent, "there is no directory %s/mistaken", directory);
    assert_string_equal(why, parent);
    assert_false(write_section(4, 100));
    assert_string_equal(why, parent);
    snprintf(path, sizeof path, "%s/mistaken", directory);
    assert_int_equal(access(path, F_OK), -1);
}

/* A link stays one, wherever it leads, and who may read the table may read the next one. */
static void test_links(void **state)
{
    char link[PATH_MAX], to[PATH_MAX];
    struct stat st;

    (void)state;
    snprintf(link, sizeof link, "%s/a/link", directory);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(symlink(i == 0 ? "b/tuning" : path, link), 0);
        memcpy(to, path, sizeof to);
        memcpy(path, link, sizeof path);
        assert_true(ncoll__tune_can_write(&ctx, path, why));
        assert_true(write_section(4, 100)); /* to where there is nothing yet */
        assert_int_equal(chmod(to, 0664), 0);
        assert_true(write_section(8, 100));
        assert_int_equal(sections(), 2);
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_false(is_locked());
        memcpy(path, to, sizeof path);
        assert_true(is_locked());
        assert_int_equal(sections(), 2);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0664);
        assert_int_equal(unlink(link) + unlink(path), 0);
    }
}

/* Nobody waits for what will never come, or reads what has no end. */
static void test_what_is_no_file(void **state)
{
    static void (*const makes[])(void) = {make_fifo, make_directory, make_device, make_loop,
                                          make_huge};

    (void)state;
    assert_true(write_section(4, 100));
    for (unsigned i = 0; i < sizeof makes / sizeof makes[0]; i++) {
        size_t len;
        assert_int_equal(remove(path), 0);
        makes[i]();
        assert_null(ncoll__tune_read(&ctx, path, &len, why));
        assert_true(*why != '\0');
        assert_false(write_section(4, 100));
    }
}

/* Some write, each its own sections, while this process reads: it sees no half a table, and in the
 * end all that was written is there. */
static void test_several_at_once(void **state)
{
    pid_t writers[WRITERS];
    int status, running = WRITERS, reads = 0;

    (void)state;
    for (unsigned w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        assert_true(writers[w] >= 0);
        for (unsigned i = 0; writers[w] == 0 && i < TIMES; i++)
            if (!write_section(1 + w * TIMES + i, w)) {
                fprintf(stderr, "%s\n", why);
                _exit(1);
            }
        if (writers[w] == 0)
            _exit(0);
    }
    while (running > 0) {
        reads++;
        assert_true(sections() >= 0);
        while (running > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            running--;
        }
    }
    assert_true(reads > 1);
    assert_int_equal(sections(), WRITERS * TIMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_where, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write_and_find_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_at_once, setup, teardown),
    };

    return cmocka_run_group_tests_name("tune_file", tests, NULL, NULL);
}
