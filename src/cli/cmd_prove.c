/*
 * `bawn prove`: attacks the sandbox on this machine and reports the results.
 *
 * The prover, a child, makes the targets and runs the attacks. Its parent waits and removes the targets, even if
 * the prover is killed. If the parent is killed, the prover removes them.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/say.h"
#include "kernel/own_program.h"
#include "kernel/process.h"
#include "prove/proof.h"
#include "session/load.h"
#include "session/run.h"

const char prove_usage[] = "bawn prove [--json] [--follow] [--report FILE] [MODE]...\n"
                           "                  [--RULE OBJECT]... [-- CMD...]\n"
                           "\n"
                           "Try about 280 attacks in the sandbox that CMD would get with these flags, and\n"
                           "report the results. bawn judges from outside whether a secret leaked, a file\n"
                           "changed, a server was reached or a process was killed. Each attack is first\n"
                           "tried without a sandbox, on decoys; if it fails there, too, it is reported as\n"
                           "not applicable, never as held. Exit status 1 if an attack escaped, 3 if walls\n"
                           "without namespaces do not hold one. See docs/PROVE.md.\n"
                           "\n"
                           "  --json         print the results as JSON\n"
                           "  --follow       print each result as it comes; with --json one object per line\n"
                           "  --report FILE  write the results as one HTML page, too\n"
                           "  --log-exec     attack a sandbox that records programs; it has one more filter\n"
                           "\n"
                           "  bawn prove\n"
                           "  bawn prove --agent claude\n"
                           "  bawn prove --net off --read ~/datasets -- make\n";

enum { EXIT_ESCAPED = 1, EXIT_NOT_HELD = 3 };

/* Context for both sides of the battery. */
struct sides {
    const struct world *world; /* its environment has decoys */
    const struct args *args;   /* with rules for the targets added */
    const struct targets *targets;
};

/* Runs an attack without a sandbox, in the environment that the sandbox starts with. */
static void run_without(void *context, const char *const *command)
{
    const struct sides *sides = context;
    own_program_become(command[0], command, sides->world->caller.environment);
}

/* Runs an attack behind the walls: an ordinary run, in this process. */
static void run_inside(void *context, const char *const *command)
{
    const struct sides *sides = context;
    struct world world = *sides->world;
    world.in_is_terminal = isatty(STDIN_FILENO);
    world.out_is_terminal = isatty(STDOUT_FILENO);
    world.err_is_terminal = false;
    world_set_speaker(&world);
    struct run_request request = args_request(sides->args);
    request.trial_command = command;
    request.trial_state = sides->targets->state;
    request.trial_tree = sides->targets->project;
    struct run run;
    run_command(&world.caller, &request, &run);
    run_finish(&run);
    fflush(world.err);
    _exit(run.result.summary.status);
}

/* Are changes captured aside? --nested alone means --review=all. */
static bool captures_aside(const struct args *args)
{
    bool nested_alone = args->flags & FLAG(NESTED) && !(args->flags & FLAG(READ_ONLY));
    return nested_alone || args->flags & (FLAG(REVIEW) | FLAG(DISCARD));
}

/*
 * Adds rules to write the decoy project and to execute the attacks. The home is fresh and nothing is recorded, so
 * the user's sessions and private homes stay unchanged.
 */
static void prepare_args(const struct args *args, const struct targets *targets, struct args *ret_args)
{
    *ret_args = *args;
    ret_args->rules.at = NULL;
    ret_args->rules.count = ret_args->rules.capacity = 0;
    for (size_t i = 0; i < args->rules.count; i++)
        vec_push(&ret_args->rules, args->rules.at[i]);
    vec_push(&ret_args->rules, (struct argument){VERB_WRITE, targets->project});
    vec_push(&ret_args->rules, (struct argument){VERB_READ, targets->program});
    ret_args->flags = (args->flags & ~FLAGS_ENDING) | FLAG(QUIET) |
                      FLAG(FRESH_HOME) |                 /* messages of bawn's would be read as answers */
                      (args->flags & FLAG(RECORD_EXEC)); /* adds a filter */
    if (captures_aside(args)) /* the decoy project as well, since it stands for the workspace */
        ret_args->flags = (ret_args->flags & ~FLAG(REVIEW)) | FLAG(DISCARD) | FLAG(REVIEW_ALL);
}

static const char *hash_plan(struct loaded *loaded, const char *const *command)
{
    auto_buf struct buf json = {0};
    char hex[SHA256_HEX_SIZE];
    plan_add_json(&loaded->plan, command, &json);
    sha256_hex(json.bytes, json.size, hex);
    return arena_str(&loaded->arena, hex);
}

/* --follow: one finding, as soon as it is made. */
static void tell(void *context, const struct finding *finding)
{
    const struct sides *sides = context;
    struct style style = style_for_out(sides->world, NULL);
    auto_buf struct buf out = {0};
    if (sides->args->flags & FLAG(JSON))
        proof_add_json_line(&out, finding);
    else
        proof_add_line(&style, &out, finding);
    put(sides->world->out, &out);
    fflush(sides->world->out);
}

static void add_results(const struct args *args, const struct style *style, const struct proof *proof,
                        struct buf *out)
{
    bool follows = args->flags & FLAG(FOLLOW), as_json = args->flags & FLAG(JSON);
    if (follows && as_json) {
        proof_add_json_summary(proof, out);
    } else if (follows) {
        buf_add_char(out, '\n');
        proof_add_summary(proof, style, out);
    } else if (as_json) {
        proof_add_json(proof, out);
    } else {
        proof_add_text(proof, style, out);
    }
}

static int show(const struct world *world, const struct args *args, struct proof *proof)
{
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    for (size_t i = 0; i < proof->findings.count; i++)
        proof->counts[proof->findings.at[i].ruling]++;
    add_results(args, &style, proof, &out);
    put(world->out, &out);
    fflush(world->out);
    if (args->report) {
        auto_buf struct buf page = {0};
        auto_arena struct arena arena = {0};
        struct err err = {0};
        proof_add_page(proof, &page);
        if (destination_write(&arena, &proof->plan->policy->request, args->report, &page, &err) < 0)
            return say_refused(world, &err);
    }
    return proof->counts[RULING_ESCAPED]    ? EXIT_ESCAPED
           : proof->counts[RULING_NOT_HELD] ? EXIT_NOT_HELD
                                            : EXIT_FINE;
}

/* Runs in the prover. Returns the exit status. */
static int prove(const struct world *world, const struct args *args, struct loaded *loaded,
                 const struct targets *targets)
{
    struct world attacked = *world;
    struct args trial;
    struct err err = {0};
    attacked.caller.environment = targets_environment(targets, world->caller.environment);
    prepare_args(args, targets, &trial);
    struct sides sides = {&attacked, &trial, targets};
    struct proof proof = {.plan = &loaded->plan,
                          .typed = (const char *const *)args->typed,
                          .environment = world->caller.environment,
                          .is_root = targets->is_root};
    bool is_live = !captures_aside(args) && !(args->flags & FLAG(READ_ONLY));
    struct sides told = {world, args, targets};
    struct proof_context context = {&loaded->plan, targets->project, is_live};
    struct battery battery = {
        .targets = targets,
        .catalogue = &proof.catalogue,
        .without = {run_without, &sides},
        .inside = {run_inside, &sides},
        .granted = proof_granted,
        .not_held = proof_not_held,
        .granted_context = &context,
        .inside_is_host_tree = args->flags & FLAG(FULL_ACCESS),
        .told = (args->flags & FLAG(FOLLOW)) ? tell : NULL,
        .told_context = &told,
    };
    proof.policy_hash = hash_plan(loaded, args->command);
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    int status = EXIT_REFUSED;
    if (targets_make(targets, &err) < 0 ||
        catalogue_read(targets->program, targets->arena, &proof.catalogue, &err) < 0 ||
        judge(&battery, &proof.findings, &err) < 0) {
        say_err(world, &err);
    } else {
        proof.milliseconds = (uint64_t)milliseconds_since(began);
        status = show(world, args, &proof);
    }
    vec_free(&proof.findings);
    catalogue_free(&proof.catalogue);
    vec_free(&trial.rules);
    return status;
}

typedef VEC(const char *) path_list;

/* Directories that the run will create because a rule says so, and their missing parents. */
static void find_missing(struct loaded *loaded, path_list *ret_missing)
{
    vec_each (const struct operation, operation, &loaded->plan.operations) {
        for (const char *path = operation->path; operation->make && access(path, F_OK) < 0;
             path = path_parent(&loaded->arena, path))
            vec_push(ret_missing, path);
    }
}

/* Removes everything that was made. rmdir leaves a directory that has files by now. */
static void remove_all(const struct targets *targets, const path_list *missing)
{
    targets_remove(targets);
    for (size_t i = 0; i < missing->count; i++)
        rmdir(missing->at[i]);
}

static pid_t prover;

static void pass_on(int signal)
{
    kill(prover, signal);
}

/* SIGTERM and SIGHUP: unlike Ctrl-C they reach only the parent, which passes them on. */
static sigset_t ending_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

/* Waits for the prover, passes ending signals on to it, and removes the targets. */
static int wait_and_remove(const struct targets *targets, const path_list *missing, pid_t child,
                           const sigset_t *blocked)
{
    prover = child;
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN; /* the terminal sends these to both processes */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
    sigprocmask(SIG_UNBLOCK, blocked, NULL);
    int status = process_wait(child);
    remove_all(targets, missing);
    return status;
}

static int prove_and_remove(const struct world *world, const struct args *args, struct loaded *loaded,
                            struct targets *targets, const path_list *missing)
{
    struct err err = {0};
    auto_fd int lock = targets_begin(targets, &err);
    fflush(world->out);
    sigset_t blocked = ending_signals();
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    pid_t parent = getpid(), child = lock < 0 ? -1 : fork();
    if (lock >= 0 && child < 0)
        err_sys(&err, errno, "cannot make a process");
    if (child < 0)
        return say_refused(world, &err);
    if (child > 0)
        return wait_and_remove(targets, missing, child, &blocked);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    int status = prove(world, args, loaded, targets);
    if (getppid() != parent)
        remove_all(targets, missing);
    _exit(status);
}

/* Is there a writable directory for the file? Checked before the attacks begin. */
static bool can_write_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    auto_arena struct arena arena = {0};
    const char *folder = !slash          ? "."
                         : slash == path ? "/"
                                         : arena_copy(&arena, path, (size_t)(slash - path));
    return *path && access(folder, W_OK) == 0;
}

static bool is_own_folder(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

int cmd_prove(const struct world *world, const struct args *args)
{
    if (args->report && !can_write_beside(args->report))
        return say_bad_input(world, "the directory for the report does not exist, or cannot be written",
                             "pass --report a file in another directory");
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    struct targets targets = {
        .arena = &loaded.arena,
        .program = libexec_find(&loaded.arena, "bawn-prove"),
        .user_home = loaded.request.home,
        .is_root = process_is_real_root(),
    };
    if (status)
        return status;
    if (*args->command && !loaded.policy.agent && !policy_find_command(&loaded.policy, *args->command))
        return say_bad_input(world, arena_printf(&loaded.arena, "there is no program '%s'", *args->command),
                             "name a command whose sandbox to attack, or none: all attacks are tried");
    if (!targets.program) {
        say_problem(world, "the program bawn-prove, which runs the attacks, is not installed",
                    "install it beside bawn, or in " BAWN_LIBEXEC);
        return EXIT_REFUSED;
    }
    if (is_own_folder(loaded.request.starts[START_RUNTIME]))
        targets.user_runtime = loaded.request.starts[START_RUNTIME];
    targets.states = path_join(&loaded.arena, loaded.request.starts[START_STATE], "bawn");
    if (world->err_is_terminal)
        say_problem(
            world,
            "this takes some seconds: bawn tries each attack without a sandbox, on decoys, and then inside",
            NULL);
    auto_vec path_list missing = {0};
    find_missing(&loaded, &missing);
    return prove_and_remove(world, args, &loaded, &targets, &missing);
}
