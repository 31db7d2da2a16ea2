/* What the probe finds on this machine, and what `bawn doctor` says about made-up ones. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "kernel/probe.h"
#include "unit.h"

/* A machine on which everything works, as an ordinary user. */
static struct host_caps perfect(void)
{
    struct host_caps caps = {
        .release = "6.18.0",
        .architecture = "x86_64",
        .uid = 1000,
        .program = "/usr/bin/bawn",
        .landlock_abi = 7,
        .max_user_namespaces = 60000,
        .unprivileged_userns_clone = PROBE_NOT_THERE,
        .apparmor_restricts_userns = PROBE_NOT_THERE,
        .cgroup_holds = true,
        .cgroup_found = true,
        .cgroup_writable = true,
        .cgroup_memory = true,
        .cgroup_pids = true,
    };
    for (enum trial_name trial = 0; trial < TRIAL_COUNT; trial++)
        caps.trials[trial] = (struct trial){.works = true};
    return caps;
}

static void fails(struct host_caps *caps, enum trial_name trial, int errnum)
{
    caps->trials[trial] = (struct trial){.errnum = errnum};
}

struct answer {
    int status;
    char *text; /* what was printed */
};

static struct answer ask(const struct host_caps *caps, bool as_json)
{
    static const char *const nothing[] = {NULL};
    struct answer answer = {0};
    size_t size = 0;
    FILE *out = open_memstream(&answer.text, &size);
    struct world world = {
        .caller = {.root_fd = -1, .directory = "/", .environment = nothing}, .out = out, .err = stderr};
    answer.status = doctor_report(&world, caps, as_json);
    fclose(out);
    return answer;
}

#define SAYS(text_)     CHECK(strstr(answer.text, text_) != NULL)
#define SAYS_NOT(text_) CHECK(strstr(answer.text, text_) == NULL)

TEST(the_probe_finds_out_who_and_where_it_is)
{
    static const char *const places[] = {"/usr", NULL}, *const programs[] = {"sh", NULL};
    struct probe_request request = {places, programs, "/usr/bin:/bin"};
    struct host_caps caps;
    probe_host(&request, &caps);
    CHECK_INT(caps.uid, geteuid());
    CHECK(caps.release[0] != '\0' && caps.architecture[0] != '\0');
    CHECK(strstr(caps.program, "unit-probe") != NULL);
    CHECK(!caps.snaps[0]);
    CHECK(caps.trials[TRIAL_SECCOMP].works);
    CHECK(caps.trials[TRIAL_LANDLOCK].works == (caps.landlock_abi > 0));
    /* Each trial stands on the one before it. */
    CHECK(caps.trials[TRIAL_USER_NAMESPACE].works || !caps.trials[TRIAL_NAMESPACES].works);
    CHECK(caps.trials[TRIAL_NAMESPACES].works || !caps.trials[TRIAL_ID_MAP].works);
    CHECK(caps.trials[TRIAL_ID_MAP].works || !caps.trials[TRIAL_MOUNTS].works);
    CHECK(caps.trials[TRIAL_MOUNTS].works || !caps.trials[TRIAL_PROC].works);
}

static int descriptors_in_use(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(the_probe_leaves_no_descriptor_and_no_child)
{
    static const char *const places[] = {"/usr", "/none", NULL}, *const programs[] = {NULL};
    struct probe_request request = {places, programs, NULL};
    struct host_caps caps;
    int before = descriptors_in_use();
    for (int i = 0; i < 5; i++)
        probe_host(&request, &caps);
    CHECK_INT(descriptors_in_use(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(a_snap_is_known_by_where_its_link_leads)
{
    char folder[] = "/tmp/bawn-probe.XXXXXX";
    REQUIRE(mkdtemp(folder));
    char link[64];
    snprintf(link, sizeof(link), "%s/claude", folder);
    static const char *const places[] = {NULL}, *const programs[] = {"claude", "codex", NULL};
    struct probe_request request = {places, programs, folder};
    struct host_caps caps;
    /* /usr/bin/snap is not there on every machine: a link to another program is none. */
    CHECK(symlink("/bin/sh", link) == 0);
    probe_host(&request, &caps);
    CHECK(!caps.snaps[0]);
    CHECK(unlink(link) == 0 && rmdir(folder) == 0);
}

TEST(a_machine_with_everything)
{
    struct host_caps caps = perfect();
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("files              ok ");
    SAYS("processes          ok ");
    SAYS("kernel interfaces  ok ");
    SAYS("network            ok ");
    SAYS("limits             ok ");
    SAYS("root               ok ");
    SAYS("A run works here.\n");
    SAYS_NOT("sudo");
    SAYS_NOT("--degrade");
    SAYS_NOT("\033");
    free(answer.text);
}

TEST(a_zeroed_machine_can_hold_nothing)
{
    struct host_caps caps = {0};
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              missing");
    SAYS("kernel interfaces  missing");
    SAYS("bawn would refuse to run here");
    free(answer.text);
}

TEST(user_namespaces_turned_off)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 1; /* too old to stand in for namespaces */
    caps.max_user_namespaces = 0;
    fails(&caps, TRIAL_USER_NAMESPACE, ENOSPC);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              missing      user namespaces are turned off");
    SAYS("    sudo sysctl -w user.max_user_namespaces=15000\n");
    SAYS_NOT("--degrade"); /* without namespaces there is no sandbox */
    SAYS("    echo 'user.max_user_namespaces = 15000' | sudo tee -a /etc/sysctl.d/60-bawn.conf\n");
    SAYS("network            missing      needs the same as files");
    free(answer.text);
}

TEST(user_namespaces_for_root_only)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 1; /* too old to stand in for namespaces */
    caps.unprivileged_userns_clone = 0;
    fails(&caps, TRIAL_USER_NAMESPACE, EPERM);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("    sudo sysctl -w kernel.unprivileged_userns_clone=1\n");
    free(answer.text);
}

TEST(ubuntu_with_apparmor)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 1; /* too old to stand in for namespaces */
    caps.apparmor_restricts_userns = 1;
    fails(&caps, TRIAL_MOUNTS, EACCES); /* the namespace is made, and nothing may be done in it */
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("AppArmor denies user namespaces to programs without a profile");
    SAYS("'profile bawn \"/usr/bin/bawn\" flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bawn\n");
    SAYS("    sudo apparmor_parser -r /etc/apparmor.d/bawn\n");
    SAYS("    sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n");
    free(answer.text);

    /* With a profile it works, and the setting says nothing. */
    caps = perfect();
    caps.apparmor_restricts_userns = 1;
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS_NOT("AppArmor");
    free(answer.text);
}

TEST(a_path_that_apparmor_would_read_as_a_pattern)
{
    struct host_caps caps = perfect();
    caps.apparmor_restricts_userns = 1;
    snprintf(caps.program, sizeof(caps.program), "/home/x/'; rm *'/bawn");
    fails(&caps, TRIAL_USER_NAMESPACE, EACCES);
    struct answer answer = ask(&caps, false);
    SAYS("profile bawn \"/usr/local/bin/bawn\"");
    SAYS_NOT("rm *");
    free(answer.text);
}

TEST(docker)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 1; /* too old to stand in for namespaces */
    snprintf(caps.container, sizeof(caps.container), "Docker");
    fails(&caps, TRIAL_USER_NAMESPACE, ENOSYS); /* its filter answers clone3 so */
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("inside Docker");
    SAYS("    docker run --security-opt seccomp=unconfined ");
    free(answer.text);

    caps = perfect();
    caps.landlock_abi = 1;
    snprintf(caps.container, sizeof(caps.container), "Docker");
    fails(&caps, TRIAL_PROC, EPERM);
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              weaker       Landlock version 1 ");
    SAYS("processes          missing      cannot mount a new /proc");
    SAYS("systempaths=unconfined");
    free(answer.text);
}

TEST(landlock_stands_in_for_namespaces)
{
    struct host_caps caps = perfect();
    snprintf(caps.container, sizeof(caps.container), "Docker");
    caps.is_filtered = true;
    caps.apparmor_restricts_userns = 1; /* the host's setting, which is not the cause here */
    caps.landlock_abi = 7;
    fails(&caps, TRIAL_USER_NAMESPACE, ENOSYS);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS(
        "files              weaker       the seccomp filter of Docker around bawn refuses user namespaces; Landlock version 7 ");
    SAYS("    docker run --security-opt seccomp=unconfined ");
    SAYS_NOT("AppArmor");
    SAYS("processes          weaker       needs the same as files; without it, signals stay inside");
    SAYS("network            weaker       needs the same as files; without it, each connection is judged");
    SAYS("A run works here; weaker walls are listed above.\n");
    free(answer.text);

    caps.landlock_abi = 2; /* Linux 6.1 */
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("network            weaker       needs the same as files; without it, only --net off works");
    free(answer.text);
    caps.landlock_abi = 7;

    /* Another sandbox judges calls already: then nothing stands in. */
    fails(&caps, TRIAL_JUDGED_CALLS, EBUSY);
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              missing      the seccomp filter of Docker");
    free(answer.text);

    /* Namespaces without a /proc of their own are not used. */
    caps = perfect();
    caps.landlock_abi = 7;
    fails(&caps, TRIAL_PROC, EPERM);
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("files              weaker       namespaces have no /proc of their own here; Landlock version 7 ");
    SAYS("processes          weaker       cannot mount a new /proc");
    free(answer.text);
}

TEST(landlock_is_missing_or_old)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 0;
    fails(&caps, TRIAL_LANDLOCK, ENOSYS);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              missing      this kernel has no Landlock");
    SAYS("    bawn --degrade=landlock CMD  # or go on without this wall\n");
    free(answer.text);

    fails(&caps, TRIAL_LANDLOCK, EOPNOTSUPP);
    snprintf(caps.security_modules, sizeof(caps.security_modules), "capability,yama,apparmor");
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("lsm=landlock,capability,yama,apparmor ");
    SAYS("/etc/default/grub");
    free(answer.text);

    snprintf(caps.container, sizeof(caps.container), "Docker");
    answer = ask(&caps, false);
    SAYS("# start the kernel of the container's host with lsm=landlock,capability,yama,apparmor\n");
    CHECK(!strstr(answer.text, "grub"));
    free(answer.text);

    static const struct {
        int abi;
        const char *says, *fix;
    } old[] = {
        {1, "truncation", "from 5.19 on"},
        {2, "does not control truncation, ", "Linux 6.10"},
        {4, "does not control ioctl on devices", "Linux 6.10"},
        {5, "only namespaces keep signals", "Linux 6.12"},
    };
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        caps = perfect();
        caps.landlock_abi = old[i].abi;
        answer = ask(&caps, false);
        CHECK_INT(answer.status, 0);
        SAYS(old[i].says);
        SAYS(old[i].fix);
        SAYS("A run works here; weaker walls are listed above.\n");
        free(answer.text);
    }
}

TEST(root_needs_file_systems_that_map_ids)
{
    struct host_caps caps = perfect();
    caps.uid = 0;
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("root               ok           root inside is an unused id outside");
    free(answer.text);

    fails(&caps, TRIAL_MAPPED_MOUNTS, EINVAL);
    caps.unmapped_place = "/srv/app";
    caps.unmapped_type = "NFS";
    answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("at /srv/app: NFS cannot map ids (Invalid argument)");
    SAYS("    bawn --degrade=root CMD  # or go on without this wall\n");
    free(answer.text);
}

TEST(root_of_a_user_namespace_only)
{
    struct host_caps caps = perfect();
    caps.landlock_abi = 1; /* too old to stand in for namespaces */
    caps.uid = 0;
    fails(&caps, TRIAL_ID_MAP, EPERM);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("files              missing      root here is root only of a user namespace");
    SAYS("root               missing      needs the same as files");
    free(answer.text);
}

TEST(limits_without_a_control_group_are_weaker_and_enough)
{
    struct host_caps caps = perfect();
    caps.cgroup_holds = caps.cgroup_writable = false;
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("limits             weaker");
    SAYS("    bawn --degrade=memory CMD  # or go on without this wall\n");
    SAYS("    systemd-run --user --scope -p Delegate=yes -- bawn CMD\n");
    free(answer.text);

    caps = perfect();
    caps.cgroup_holds = false;
    answer = ask(&caps, false);
    SAYS("your control group has other processes, too");
    free(answer.text);

    caps = perfect();
    caps.cgroup_holds = caps.cgroup_memory = caps.cgroup_pids = false;
    answer = ask(&caps, false);
    SAYS("Delegate=cpu memory pids");
    free(answer.text);

    caps.cgroup_is_old = true;
    answer = ask(&caps, false);
    SAYS("systemd.unified_cgroup_hierarchy=1");
    free(answer.text);
}

TEST(a_helper_for_cores_that_no_limit_keeps_away_is_named)
{
    struct host_caps caps = perfect();
    caps.core_starts_helper = true;
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("limits             weaker       a control group of its own limits memory and processes; a crash ");
    SAYS("    echo '* hard core unlimited' | sudo tee ");
    free(answer.text);
}

TEST(snaps_are_named_with_another_way_to_install_them)
{
    struct host_caps caps = perfect();
    caps.snaps[0] = "claude";
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 0);
    SAYS("programs           weaker       claude is a snap, ");
    SAYS("    npm install -g @anthropic-ai/claude-code\n");
    free(answer.text);
    caps.snaps[1] = "node";
    answer = ask(&caps, false);
    SAYS("claude, node are snaps, ");
    free(answer.text);
}

TEST(inside_a_sandbox_of_bawn)
{
    struct host_caps caps = perfect();
    snprintf(caps.container, sizeof(caps.container), "bawn");
    fails(&caps, TRIAL_USER_NAMESPACE, EPERM);
    struct answer answer = ask(&caps, false);
    CHECK_INT(answer.status, 1);
    SAYS("this is already a bawn sandbox");
    free(answer.text);
}

TEST(json_says_the_same)
{
    struct host_caps caps = perfect();
    fails(&caps, TRIAL_SECCOMP, EINVAL);
    struct answer answer = ask(&caps, true);
    CHECK_INT(answer.status, 1);
    SAYS("\"schema\": \"bawn.doctor\"");
    SAYS("\"works\": false");
    SAYS("\"seccomp\": \"EINVAL\"");
    SAYS("\"fresh-proc\": \"works\"");
    SAYS("\"state\": \"cannot hold\"");
    SAYS("\"degrade\": \"seccomp\"");
    free(answer.text);
}

UNIT_MAIN()
