/* SPDX-License-Identifier: BSD-3-Clause */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/arguments.h"
#include "tools/output.h"
#include "tools/plot/plot.h"

extern char **environ;

struct request {
    const char *folder;
    bool formats[2];
    bool script; /* write scripts, and do not run them */
    char **files;
    unsigned n_files;
};

static bool complain(const char *what, int reason)
{
    fprintf(stderr, "%s: %s: %s\n", PLOT_NAME, what, strerror(reason));
    return false;
}

static bool run_gnuplot(FILE *script)
{
    char *argv[] = {"gnuplot", NULL};
    posix_spawn_file_actions_t actions;
    int status;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return complain("gnuplot", ENOMEM);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int reason = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (reason == ENOENT) {
        fprintf(stderr,
                "%s: there is no gnuplot here (Debian: gnuplot-nox). --script writes what it would "
                "draw from\n",
                PLOT_NAME);
        return false;
    }
    if (reason != 0)
        return complain("cannot start gnuplot", reason);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return complain("gnuplot", errno);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fprintf(stderr, "%s: gnuplot has failed\n", PLOT_NAME);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* gnuplot tells nobody when it cannot write. */
static bool is_written(const char *picture)
{
    struct stat s;

    if (stat(picture, &s) != 0)
        return complain(picture, errno);
    if (s.st_size > 0)
        return true;
    fprintf(stderr, "%s: %s is empty\n", PLOT_NAME, picture);
    return false;
}

static bool draw_picture(const struct chart *chart, enum format format, const char *picture)
{
    FILE *script = tmpfile();

    if (script == NULL)
        return complain("a temporary file", errno);
    if (unlink(picture) != 0 && errno != ENOENT) {
        complain(picture, errno);
        fclose(script);
        return false;
    }
    script_print(chart, format, picture, script);
    rewind(script);
    bool ok = run_gnuplot(script) && is_written(picture);
    fclose(script);
    return ok;
}

static bool write_script(const struct chart *chart, enum format format, const char *picture,
                         const char *file)
{
    FILE *out = fopen(file, "we");

    if (out == NULL)
        return complain(file, errno);
    script_print(chart, format, picture, out);
    if (fclose(out) != 0)
        return complain(file, errno);
    return true;
}

static bool draw(void *arg, const struct chart *chart)
{
    const struct request *request = arg;
    char picture[4096], file[4100];

    for (int format = 0; format < 2; format++) {
        if (!request->formats[format])
            continue;
        int len = snprintf(picture, sizeof picture, "%s/%s.%s", request->folder, chart->file,
                           format_endings[format]);
        if (len < 0 || (size_t)len >= sizeof picture)
            return complain(request->folder, ENAMETOOLONG);
        snprintf(file, sizeof file, "%s.gp", picture);
        bool ok = request->script ? write_script(chart, format, picture, file)
                                  : draw_picture(chart, format, picture);
        if (!ok)
            return false;
        printf("%s\n", request->script ? file : picture);
    }
    return true;
}

enum long_option {
    OPT_FORMAT = 256,
    OPT_SCRIPT,
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;

    switch (key) {
    case 'o':
        request->folder = arg;
        return 0;
    case OPT_FORMAT:
        request->formats[FORMAT_SVG] = strcmp(arg, "png") != 0;
        request->formats[FORMAT_PNG] = strcmp(arg, "svg") != 0;
        if (strcmp(arg, "svg") == 0 || strcmp(arg, "png") == 0 || strcmp(arg, "both") == 0)
            return 0;
        argp_error(state, "--format takes svg, png or both, not '%s'", arg);
        return EINVAL;
    case OPT_SCRIPT:
        request->script = true;
        return 0;
    case ARGP_KEY_ARGS:
        request->files = state->argv + state->next;
        request->n_files = (unsigned)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "give a file that ncoll-bench --json has written");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What gnuplot says of a folder that is not there is a trace of itself. */
static bool make_folder(const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return complain(folder, errno);
    struct stat s;
    if (stat(folder, &s) != 0)
        return complain(folder, errno);
    if (!S_ISDIR(s.st_mode))
        return complain(folder, ENOTDIR);
    return access(folder, W_OK | X_OK) == 0 || complain(folder, errno);
}

int plot_main(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"output", 'o', "FOLDER", 0, "where pictures go, made if there is none (default: .)", 0},
        {"format", OPT_FORMAT, "FORMAT", 0, "svg (default), png or both", 0},
        {"script", OPT_SCRIPT, NULL, 0, "write gnuplot scripts, with their data, and no pictures",
         0},
        {0},
    };
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "FILE.json...",
        .doc = "Draws what ncoll-bench --json has written: latency and bandwidth by size beside "
               "their limits, the distribution of all calls, ratios to other libraries and, from "
               "several files, latency by ranks. Prints the names of the pictures.",
    };
    struct request request = {.folder = ".", .formats = {true}};
    struct figures figures;
    static char name[] = PLOT_NAME;

    arguments_open();
    argv[0] = name; /* in usage and messages of argp, which go by it */
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_USAGE;
    if (!figures_load(request.files, request.n_files, &figures))
        return EXIT_FAILURE;
    if (!make_folder(request.folder)) {
        figures_free(&figures);
        return EXIT_FAILURE;
    }
    int drawn = charts_make(&figures, draw, &request);
    figures_free(&figures);
    if (drawn == 0)
        fprintf(stderr,
                "%s: nothing to draw: there are neither several sizes nor ranks, nor "
                "other libraries, nor samples\n",
                PLOT_NAME);
    return output_written(stdout) && drawn > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
