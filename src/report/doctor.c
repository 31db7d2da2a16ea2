#include "report/doctor.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "kernel/landlock.h"

#define finds(wall, found, ...)                                                                              \
    ((wall)->state = (found), (wall)->says = arena_printf((wall)->arena, __VA_ARGS__))

static void fix(struct judged_wall *wall, const char *line)
{
    size_t count = 0;
    while (wall->fixes[count])
        count++;
    if (count < MOST_FIXES)
        wall->fixes[count] = line;
}

/* Sets it now, and again whenever the machine boots. */
static void fix_by_setting(struct judged_wall *wall, const char *name, const char *value)
{
    fix(wall, arena_printf(wall->arena, "sudo sysctl -w %s=%s", name, value));
    fix(wall,
        arena_printf(wall->arena, "echo '%s = %s' | sudo tee -a /etc/sysctl.d/60-bawn.conf", name, value));
}

static void fix_by_container(struct judged_wall *wall, const struct host_caps *caps)
{
    if (strcmp(caps->container, "Docker") == 0)
        fix(wall, "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
                  "--security-opt systempaths=unconfined IMAGE");
    else if (strcmp(caps->container, "Podman") == 0)
        fix(wall, "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL IMAGE");
    else
        fix(wall,
            "# let the container make user namespaces (its filter must allow clone, clone3, unshare and "
            "mount), and show it all of /proc");
}

/* A container has no boot loader: its host must be started anew. */
static void fix_by_kernel_argument(struct judged_wall *wall, const struct host_caps *caps,
                                   const char *argument)
{
    if (*caps->container) {
        fix(wall, arena_printf(wall->arena, "# start the kernel of the container's host with %s", argument));
        return;
    }
    fix(wall, arena_printf(wall->arena, "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&%s /' /etc/default/grub",
                           argument));
    fix(wall, "sudo update-grub && sudo reboot");
}

static void fix_by_profile(struct judged_wall *wall, const char *program)
{
    bool is_plain = *program && !strpbrk(program, "'\"\\[]{}*?^,");
    fix(wall, arena_printf(wall->arena,
                           "printf '%%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' "
                           "'profile bawn \"%s\" flags=(unconfined) { userns, }' | "
                           "sudo tee /etc/apparmor.d/bawn",
                           is_plain ? program : "/usr/local/bin/bawn"));
    fix(wall, "sudo apparmor_parser -r /etc/apparmor.d/bawn");
    fix(wall, "# or, for every program on this machine:");
    fix_by_setting(wall, "kernel.apparmor_restrict_unprivileged_userns", "0");
}

static const char *errno_text(int errnum)
{
    const char *text = errnum ? strerrordesc_np(errnum) : NULL;
    return text ? text : "no answer";
}

/* The first mechanism that every sandbox needs and that fails here; NULL if all work. */
static const struct trial *first_failure(const struct host_caps *caps, const char **ret_act)
{
    static const struct {
        enum trial_name trial;
        const char *act;
    } ground[] = {
        {TRIAL_USER_NAMESPACE, "making a user namespace"},
        {TRIAL_NAMESPACES, "making namespaces"},
        {TRIAL_ID_MAP, "mapping ids"},
        {TRIAL_MOUNTS, "mounting in a namespace"},
    };
    for (size_t i = 0; i < array_len(ground); i++) {
        *ret_act = ground[i].act;
        if (!caps->trials[ground[i].trial].works)
            return &caps->trials[ground[i].trial];
    }
    return NULL;
}

/* Says why no sandbox can be made at all. */
static void explain_failure(const struct host_caps *caps, const struct trial *failed, const char *act,
                            struct judged_wall *wall)
{
    bool refused = failed->errnum == EPERM || failed->errnum == EACCES,
         is_user = caps->uid != 0 || caps->is_namespace_root;
    finds(wall, STATE_CANNOT_HOLD, "%s fails here: %s", act, errno_text(failed->errnum));
    if (strcmp(caps->container, "bawn") == 0) {
        finds(wall, STATE_CANNOT_HOLD, "this is already a bawn sandbox, which allows no other inside it");
        fix(wall, "# run bawn outside the sandbox");
    } else if (caps->is_filtered && failed == &caps->trials[TRIAL_USER_NAMESPACE] &&
               (refused || failed->errnum == ENOSYS)) {
        finds(wall, STATE_CANNOT_HOLD, "the seccomp filter of %s around bawn refuses user namespaces",
              *caps->container ? caps->container : "a container or a service");
        fix_by_container(wall, caps);
    } else if (caps->max_user_namespaces == 0) {
        finds(wall, STATE_CANNOT_HOLD, "user namespaces are turned off: user.max_user_namespaces is 0");
        fix_by_setting(wall, "user.max_user_namespaces", "15000");
    } else if (is_user && refused && caps->unprivileged_userns_clone == 0) {
        finds(wall, STATE_CANNOT_HOLD,
              "user namespaces are for root only: kernel.unprivileged_userns_clone is 0");
        fix_by_setting(wall, "kernel.unprivileged_userns_clone", "1");
    } else if (is_user && refused && caps->apparmor_restricts_userns > 0) {
        finds(wall, STATE_CANNOT_HOLD, "AppArmor denies user namespaces to programs without a profile");
        fix_by_profile(wall, caps->program);
    } else if (!is_user && failed == &caps->trials[TRIAL_ID_MAP]) {
        finds(wall, STATE_CANNOT_HOLD,
              "root here is root only of a user namespace, which has no free id for root inside");
        fix(wall, "setpriv --reuid=1000 --regid=1000 --clear-groups bawn CMD  # as an ordinary user of it");
    } else if (*caps->container) {
        fix_by_container(wall, caps);
    } else if (failed->errnum == ENOSPC) {
        finds(wall, STATE_CANNOT_HOLD, "the limit of namespaces is reached");
        fix_by_setting(wall, "user.max_user_namespaces", "60000");
    } else if (failed->errnum == EINVAL || failed->errnum == ENOSYS) {
        fix(wall, "# use Linux 5.13 or later, built with CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS");
    } else {
        fix(wall, "# find out what refuses it: sudo dmesg | tail, and the system's security policy");
    }
}

/* Can Landlock and seccomp hold the walls without namespaces? */
static bool stands_on_landlock(const struct host_caps *caps)
{
    return strcmp(caps->container, "bawn") != 0 && caps->landlock_abi >= LANDLOCK_ABI_WITH_MOVES &&
           caps->trials[TRIAL_JUDGED_CALLS].works;
}

/*
 * True if no namespaces can be made, so that there is no wall of them either. Only the first wall says why.
 * `instead` is what holds, and what does not, where the walls stand on Landlock.
 */
static bool lacks_ground(const struct host_caps *caps, const char *instead, struct judged_wall *wall)
{
    const char *act;
    if (!first_failure(caps, &act))
        return false;
    if (stands_on_landlock(caps))
        finds(wall, STATE_WEAKER, "needs the same as files; without it, %s", instead);
    else
        finds(wall, STATE_CANNOT_HOLD, "needs the same as files");
    return true;
}

/* The cause was said: Landlock stands in, or is too old for it. */
static void add_landlock_instead(const struct host_caps *caps, struct judged_wall *wall)
{
    if (stands_on_landlock(caps))
        finds(
            wall, STATE_WEAKER,
            "%s; Landlock version %d keeps other files closed instead, but shows their names, sizes and dates",
            wall->says, caps->landlock_abi);
    else if (caps->trials[TRIAL_JUDGED_CALLS].works && caps->landlock_abi > 0)
        finds(wall, STATE_CANNOT_HOLD,
              "%s; Landlock version %d cannot stand in for namespaces, version %d (Linux 5.19) can",
              wall->says, caps->landlock_abi, LANDLOCK_ABI_WITH_MOVES);
}

static void explain_landlock(const struct host_caps *caps, struct judged_wall *wall)
{
    wall->degrade = WALL_LANDLOCK;
    if (caps->trials[TRIAL_LANDLOCK].errnum != EOPNOTSUPP) {
        finds(wall, STATE_CANNOT_HOLD, "this kernel has no Landlock");
        fix(wall, *caps->container
                      ? "# let the container use Landlock's system calls (444 to 446), on Linux 5.13 or later"
                      : "# use Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK");
        return;
    }
    finds(wall, STATE_CANNOT_HOLD, "the kernel was started without Landlock");
    const char *modules =
        *caps->security_modules ? caps->security_modules : "lockdown,yama,integrity,apparmor,bpf";
    fix_by_kernel_argument(wall, caps, arena_printf(wall->arena, "lsm=landlock,%s", modules));
}

static void judge_files(const struct host_caps *caps, struct judged_wall *wall)
{
    const char *act;
    const struct trial *failed = first_failure(caps, &act);
    if (failed) {
        explain_failure(caps, failed, act, wall);
        add_landlock_instead(caps, wall);
        return;
    }
    if (stands_on_landlock(caps) && !(caps->trials[TRIAL_PROC].works && caps->trials[TRIAL_LOOPBACK].works)) {
        finds(wall, STATE_WEAKER, "namespaces have no %s of their own here",
              caps->trials[TRIAL_PROC].works ? "network" : "/proc");
        add_landlock_instead(caps, wall);
        return;
    }
    if (!caps->trials[TRIAL_LANDLOCK].works) {
        explain_landlock(caps, wall);
        return;
    }
    finds(wall, STATE_OK, "only granted files exist inside; Landlock version %d is a second wall",
          caps->landlock_abi);
    if (caps->landlock_abi >= 5)
        return;
    finds(wall, STATE_WEAKER, "Landlock version %d does not control %s%sioctl on devices", caps->landlock_abi,
          caps->landlock_abi < 3 ? "truncation, " : "",
          caps->landlock_abi < 2 ? "and forbids moves between directories; nor " : "");
    fix(wall, caps->landlock_abi < 2 ? "# use Linux 6.10 or later; from 5.19 on files can be moved"
                                     : "# use Linux 6.10 or later");
}

static void judge_processes(const struct host_caps *caps, struct judged_wall *wall)
{
    if (lacks_ground(caps, "signals stay inside, but other programs' command lines can be read", wall))
        return;
    if (!caps->trials[TRIAL_PROC].works) {
        finds(wall, stands_on_landlock(caps) ? STATE_WEAKER : STATE_CANNOT_HOLD,
              "cannot mount a new /proc, because parts of this one are hidden: %s",
              errno_text(caps->trials[TRIAL_PROC].errnum));
        if (*caps->container)
            fix_by_container(wall, caps);
        else
            fix(wall, "grep ' /proc/' /proc/self/mountinfo  # unmount what this shows");
        return;
    }
    finds(wall, STATE_OK, "own process tree and /proc; signals stay inside");
    if (caps->trials[TRIAL_LANDLOCK].works && caps->landlock_abi < LANDLOCK_ABI_WITH_SCOPES) {
        finds(wall, STATE_WEAKER,
              "only namespaces keep signals and abstract sockets inside, so --net open, which shares "
              "this machine's, is refused");
        fix(wall, "# use Linux 6.12 or later");
    }
}

static void judge_interfaces(const struct host_caps *caps, struct judged_wall *wall)
{
    finds(wall, STATE_OK, "seccomp allows only the system calls that programs need");
    if (caps->trials[TRIAL_SECCOMP].works)
        return;
    finds(wall, STATE_CANNOT_HOLD, "cannot make a seccomp filter: %s",
          errno_text(caps->trials[TRIAL_SECCOMP].errnum));
    fix(wall, "# use a kernel built with CONFIG_SECCOMP_FILTER");
    wall->degrade = WALL_SECCOMP;
}

static void judge_network(const struct host_caps *caps, struct judged_wall *wall)
{
    if (lacks_ground(caps,
                     caps->landlock_abi < LANDLOCK_ABI_WITH_TCP
                         ? "only --net off works (from Linux 6.7 on, more does)"
                         : "each connection is judged, but other programs can reach the command's servers",
                     wall))
        return;
    finds(wall, STATE_OK, "own network, empty except for loopback");
    if (caps->trials[TRIAL_LOOPBACK].works)
        return;
    finds(wall, stands_on_landlock(caps) ? STATE_WEAKER : STATE_CANNOT_HOLD,
          "cannot bring up the loopback of a new network: %s",
          errno_text(caps->trials[TRIAL_LOOPBACK].errnum));
    fix(wall, "# find out what refuses it: sudo dmesg | tail, and the system's security policy");
}

static void judge_control_group(const struct host_caps *caps, struct judged_wall *wall)
{
    finds(wall, STATE_OK, "a control group of its own limits memory and processes");
    if (caps->cgroup_holds)
        return;
    wall->degrade = WALL_MEMORY;
    if (*caps->container && !caps->cgroup_is_old) {
        finds(wall, STATE_WEAKER,
              "the container has no control group for bawn: memory in total has no limit");
        fix(wall, "# limit the container itself, such as: docker run --memory 8g --pids-limit 4096 IMAGE");
    } else if (!caps->cgroup_found || (caps->cgroup_is_old && !caps->cgroup_memory)) {
        finds(wall, STATE_WEAKER, "this machine uses control groups version 1: memory in total has no limit");
        fix_by_kernel_argument(wall, caps, "systemd.unified_cgroup_hierarchy=1");
    } else if (!caps->cgroup_writable || (caps->cgroup_memory && caps->cgroup_pids)) {
        finds(wall, STATE_WEAKER,
              caps->cgroup_writable
                  ? "your control group has other processes, too: memory in total has no limit"
                  : "you have no control group of your own: memory in total has no limit");
        fix(wall, "systemd-run --user --scope -p Delegate=yes -- bawn CMD");
    } else {
        finds(wall, STATE_WEAKER,
              "your control group lacks the memory and pids controllers: memory in total has no limit");
        fix(wall, "sudo mkdir -p /etc/systemd/system/user@.service.d");
        fix(wall, "printf '[Service]\\nDelegate=cpu memory pids\\n' | "
                  "sudo tee /etc/systemd/system/user@.service.d/delegate.conf");
        fix(wall, "sudo systemctl daemon-reload  # and log in again");
    }
}

static void judge_limits(const struct host_caps *caps, struct judged_wall *wall)
{
    judge_control_group(caps, wall);
    if (!caps->core_starts_helper)
        return;
    finds(wall, STATE_WEAKER,
          "%s; a crash inside starts the helper of kernel.core_pattern outside. A hard core limit "
          "above 0 prevents that",
          wall->says);
    fix(wall,
        "echo '* hard core unlimited' | sudo tee /etc/security/limits.d/60-bawn.conf  # and log in again");
}

static void judge_root(const struct host_caps *caps, struct judged_wall *wall)
{
    if (caps->uid != 0 || caps->is_namespace_root) {
        finds(wall, STATE_OK, "not started by root");
        return;
    }
    if (lacks_ground(caps, "root inside is root outside, with no capability", wall))
        return;
    finds(wall, STATE_OK, "root inside is an unused id outside");
    if (caps->trials[TRIAL_MAPPED_MOUNTS].works)
        return;
    finds(wall, STATE_CANNOT_HOLD, "root inside would be root outside at %s: %s cannot map ids (%s)",
          caps->unmapped_place ? caps->unmapped_place : "/",
          caps->unmapped_type ? caps->unmapped_type : "the kernel",
          errno_text(caps->trials[TRIAL_MAPPED_MOUNTS].errnum));
    fix(wall, "sudo -u USER bawn CMD  # an ordinary user needs no mapping");
    wall->degrade = WALL_ROOT;
}

/* Programs that exist as snaps, and another way to install each. */
static const struct {
    const char *program, *instead;
} snap_programs[] = {
    {"claude", "npm install -g @anthropic-ai/claude-code"},
    {"codex", "npm install -g @openai/codex"},
    {"gemini", "npm install -g @google/gemini-cli"},
    {"opencode", "npm install -g opencode-ai"},
    {"node", "sudo apt install nodejs npm"},
};

static void judge_programs(const struct host_caps *caps, struct judged_wall *wall)
{
    auto_buf struct buf names = {0};
    for (const char *const *snap = caps->snaps; *snap; snap++) {
        buf_printf(&names, "%s%s", names.size ? ", " : "", *snap);
        for (size_t i = 0; i < array_len(snap_programs); i++) {
            if (strcmp(*snap, snap_programs[i].program) == 0)
                fix(wall, snap_programs[i].instead);
        }
    }
    bool is_one = !caps->snaps[1];
    finds(wall, STATE_WEAKER, "%s %s, and snaps need privileges that no program has inside", buf_text(&names),
          is_one ? "is a snap" : "are snaps");
}

static const struct {
    const char *name;
    void (*judge)(const struct host_caps *caps, struct judged_wall *wall);
} judges[] = {
    {"files", judge_files},       {"processes", judge_processes}, {"kernel interfaces", judge_interfaces},
    {"network", judge_network},   {"limits", judge_limits},       {"root", judge_root},
    {"programs", judge_programs},
};

static_assert(array_len(judges) <= MOST_WALLS, "the limits leave room for every wall");
static_assert(array_len(snap_programs) < MOST_PROGRAMS,
              "the limits leave room for every program and the end of a run");

size_t doctor_judge(const struct host_caps *caps, struct arena *arena,
                    struct judged_wall ret_walls[MOST_WALLS], enum state *ret_worst)
{
    size_t count = 0;
    *ret_worst = STATE_OK;
    for (size_t i = 0; i < array_len(judges); i++) {
        if (judges[i].judge == judge_programs && !caps->snaps[0])
            continue; /* no program is a snap */
        struct judged_wall *wall = &ret_walls[count++];
        *wall = (struct judged_wall){.name = judges[i].name, .degrade = WALL_COUNT, .arena = arena};
        judges[i].judge(caps, wall);
        if (wall->state < *ret_worst)
            *ret_worst = wall->state;
    }
    return count;
}

void doctor_programs(const char *ret_programs[MOST_PROGRAMS])
{
    size_t count = 0;
    for (; count < array_len(snap_programs); count++)
        ret_programs[count] = snap_programs[count].program;
    ret_programs[count] = NULL;
}
