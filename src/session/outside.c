/*
 * Secrets that stay outside, for the programs inside: placeholders in variables, and the certificate of the session's authority beside
 * those that the programs trust anyway. Most programs read the machine's bundle, which is covered by one with the certificate; others
 * read a file that a variable names. Without namespaces nothing is covered, and the variables lead to files of the run's own.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "session/run_parts.h"

/* Names in own_file(). */
static const char bundle[] = "certificates.pem", lone[] = "certificate.pem";

/* Where distributions keep their certificates, as one file. */
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/ssl/cert.pem"};

/* Variables that name a file of certificates. NULL: it is not set for a caller who has none. */
static const struct {
    const char *name, *usual;
} variables[] = {
    {"SSL_CERT_FILE", bundle},    {"NODE_EXTRA_CA_CERTS", lone}, {"REQUESTS_CA_BUNDLE", bundle},
    {"PIP_CERT", bundle},         {"GIT_SSL_CAINFO", bundle},    {"CODEX_CA_CERTIFICATE", lone},
    {"DENO_CERT", lone},          {"CURL_CA_BUNDLE", NULL},      {"NIX_SSL_CERT_FILE", NULL},
    {"CARGO_HTTP_CAINFO", NULL},  {"npm_config_cafile", NULL},   {"AWS_CA_BUNDLE", NULL},
    {"BUNDLE_SSL_CA_CERT", NULL},
};

typedef VEC(struct launch_file) file_list;
typedef VEC(const char *) variable_list;

static bool covers_bundles(const struct run *run)
{
    return run->loaded.plan.request.on == ON_NAMESPACES;
}

/* A path in the directory for files that bawn makes for the command. */
static const char *own_file(const struct run *run, const char *name)
{
    struct arena *arena = run->loaded.policy.arena;
    return covers_bundles(run) ? path_join(arena, "/run/bawn", name)
                               : arena_printf(arena, "%s/" SCRATCH_OWN "/%s", run->launch.scratch, name);
}

/* The path, without symlinks, of a file of the host's; NULL: there is none. */
static const char *find_host_file(const struct run *run, const char *path)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    if (fs_resolve(run->loaded.request.fs, path_clean(run->loaded.policy.arena, "/", path), &place,
                   &ignored) < 0 ||
        place->kind != FILE_REGULAR)
        return NULL;
    return place->real;
}

/* The text of such a file with the certificate; NULL: it cannot be read. */
static const char *join_certificate(const struct run *run, const char *real)
{
    struct err ignored;
    char *text = NULL;
    size_t size = 0;
    if (fs_read(run->loaded.request.fs, real, LARGEST_LAUNCH_FILE, &text, &size, &ignored) <= 0)
        return NULL;
    return arena_printf(run->loaded.policy.arena, "%s\n%s", text, run->vault.certificate);
}

/*
 * Adds the file at `path` that has the machine's certificates at `real` and the session's. The child copies
 * them where everybody may read them: they are as much as all else that is sent to it. A warden may read
 * less, and gets their text. Returns false where they cannot be read.
 */
static bool add_bundle(const struct run *run, const char *path, const char *real, file_list *files)
{
    struct stat status;
    struct launch_file file = {.path = path, .host = real, .text = run->vault.certificate};
    if (!covers_bundles(run) || stat(real, &status) < 0 || !(status.st_mode & S_IROTH) ||
        status.st_size > LARGEST_LAUNCH_FILE) {
        file.host = NULL;
        file.text = join_certificate(run, real);
    }
    if (file.text)
        vec_push(files, file);
    return file.text;
}

/* The bundles of the machine, with the certificate. */
static void add_bundles(const struct run *run, file_list *files)
{
    const char *first = NULL;
    for (size_t i = 0; i < array_len(bundles); i++) {
        const char *real = find_host_file(run, bundles[i]);
        if (real && (!covers_bundles(run) || add_bundle(run, real, real, files)) && !first)
            first = real;
    }
    if (!first || !add_bundle(run, own_file(run, bundle), first, files))
        vec_push(files,
                 ((struct launch_file){.path = own_file(run, bundle), .text = run->vault.certificate}));
    vec_push(files, ((struct launch_file){.path = own_file(run, lone), .text = run->vault.certificate}));
}

/* The caller's own file, if the sandbox may read it, with the certificate; the certificate's own files for the others. */
static const char *file_for(const struct run *run, const char *name, const char *usual, const char *own,
                            file_list *files)
{
    const char *real = own && *own == '/' ? find_host_file(run, own) : NULL;
    if (!own || !*own)
        return usual ? own_file(run, usual) : NULL;
    if (!real || decide_path(&run->loaded.policy, real, NULL).access == ACCESS_NONE)
        return NULL;
    vec_each (const struct launch_file, file, files) {
        if (strcmp(file->path, real) == 0)
            return NULL; /* it has the certificate already */
    }
    const char *path = own_file(run, arena_printf(run->loaded.policy.arena, "certificates-%s.pem", name));
    const char *text = join_certificate(run, real); /* the child may be another user, who must not read it */
    if (!text)
        return NULL;
    vec_push(files, ((struct launch_file){.path = path, .text = text}));
    return path;
}

static const char **find_variable(variable_list *environment, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        const char **entry = &environment->at[i];
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=')
            return entry;
    }
    return NULL;
}

static void set_variables(const struct run *run, variable_list *environment, file_list *files)
{
    struct arena *arena = run->loaded.policy.arena;
    for (size_t i = 0; i < array_len(variables); i++) {
        const char **entry = find_variable(environment, variables[i].name);
        const char *own = entry ? *entry + strlen(variables[i].name) + 1 : NULL;
        const char *path = file_for(run, variables[i].name, variables[i].usual, own, files);
        const char *line = path ? arena_printf(arena, "%s=%s", variables[i].name, path) : NULL;
        if (line && entry)
            *entry = line;
        else if (line)
            vec_push(environment, line);
    }
    vec_each (const struct kept_secret, kept, &run->vault.secrets) {
        if (!kept->kind && !kept->is_of_forge) /* tokens of a login are in its file */
            vec_push(environment, arena_printf(arena, "%s=%s", kept->secret->name, kept->placeholder));
    }
}

int outside_begin(struct run *run, struct err *err)
{
    struct launch *launch = &run->launch;
    run->vault = VAULT_NONE;
    run->vault.canary = launch->canary;
    run->has_vault = true;
    const char *state = home_state_path(run->loaded.policy.arena, &run->loaded.plan, &run->session);
    if (vault_begin(&run->loaded.plan, run->caller.environment, state, &run->session.journal, &run->vault,
                    err) < 0)
        return -1;
    if (!run->vault.front)
        return 0;
    file_list files = {0};
    variable_list environment = {0};
    for (const char *const *entry = launch->environment; *entry; entry++)
        vec_push(&environment, *entry);
    add_bundles(run, &files);
    set_variables(run, &environment, &files);
    vec_push(&environment, NULL);
    struct arena *arena = run->loaded.policy.arena;
    struct launch_file *kept_files = arena_alloc(arena, files.count * sizeof(*kept_files));
    const char **kept_environment = arena_alloc(arena, environment.count * sizeof(*kept_environment));
    memcpy(kept_files, files.at, files.count * sizeof(*kept_files));
    memcpy(kept_environment, environment.at, environment.count * sizeof(*kept_environment));
    launch->files = kept_files;
    launch->file_count = files.count;
    launch->environment = kept_environment;
    vec_free(&files);
    vec_free(&environment);
    return 0;
}
