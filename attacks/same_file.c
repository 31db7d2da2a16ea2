/*
 * Looks whether a place of yours is the real one: its device and its number on it. Opens and reads nothing.
 *
 * Why: decoys show how a wall works; these show that your own keys, logins and sockets are behind it.
 * Seen: the places that stealers of credentials look in, as their published lists have them.
 *
 * case your-ssh-keys: {user_home}/.ssh => ENOENT stat | differs | prove-only
 *   files: see your ~/.ssh
 * case your-gpg-keys: {user_home}/.gnupg => ENOENT stat | differs | prove-only
 *   files: see your ~/.gnupg
 * case your-aws-login: {user_home}/.aws => ENOENT stat | differs | prove-only
 *   files: see your ~/.aws
 * case your-cloud-login: {user_home}/.config/gcloud => ENOENT stat | differs | prove-only
 *   files: see your ~/.config/gcloud
 * case your-cluster-login: {user_home}/.kube => ENOENT stat | differs | prove-only
 *   files: see your ~/.kube
 * case your-docker-login: {user_home}/.docker => ENOENT stat | differs | prove-only
 *   files: see your ~/.docker
 * case your-forge-login: {user_home}/.config/gh => ENOENT stat | differs | prove-only
 *   files: see your ~/.config/gh
 * case your-git-passwords: {user_home}/.git-credentials => ENOENT stat | differs | prove-only
 *   files: see your ~/.git-credentials
 * case your-netrc: {user_home}/.netrc => ENOENT stat | differs | prove-only
 *   files: see your ~/.netrc
 * case your-npm-token: {user_home}/.npmrc => ENOENT stat | differs | prove-only
 *   files: see your ~/.npmrc
 * case your-history: {user_home}/.bash_history => ENOENT stat | differs | prove-only
 *   files: see your ~/.bash_history
 * case your-startup-file: {user_home}/.bashrc => ENOENT stat | differs | prove-only
 *   persistence: see your ~/.bashrc
 * case your-profile: {user_home}/.profile => ENOENT stat | differs | prove-only
 *   persistence: see your ~/.profile
 * case your-firefox: {user_home}/.mozilla => ENOENT stat | differs | prove-only
 *   files: see your ~/.mozilla
 * case your-chrome: {user_home}/.config/google-chrome => ENOENT stat | differs | prove-only
 *   files: see your ~/.config/google-chrome
 * case your-autostart: {user_home}/.config/autostart => ENOENT stat | differs | prove-only
 *   persistence: see your ~/.config/autostart
 * case your-user-services: {user_home}/.config/systemd => ENOENT stat | differs | prove-only
 *   persistence: see your ~/.config/systemd
 * case your-shadow-file: /etc/shadow => ENOENT stat | differs | prove-only
 *   files: see /etc/shadow
 * case your-machine-id: /etc/machine-id => ENOENT stat | differs | prove-only
 *   files: see /etc/machine-id
 * case your-logs: /var/log => ENOENT stat | differs | prove-only
 *   files: see /var/log
 * case your-docker-socket: /run/docker.sock => ENOENT stat | differs | prove-only
 *   network: see docker's socket
 * case your-containerd-socket: /run/containerd/containerd.sock => ENOENT stat | differs | prove-only
 *   network: see containerd's socket
 * case your-system-bus: /run/dbus/system_bus_socket => ENOENT stat | differs | prove-only
 *   network: see the system bus
 * case your-systemd: /run/systemd/private => ENOENT stat | differs | prove-only
 *   network: see systemd's own socket
 * case your-display: /tmp/.X11-unix => ENOENT stat | differs | prove-only
 *   network: see the display's sockets
 */
#include <sys/stat.h>

#include "attack.h"

ATTACK(same_file)
{
    struct stat status;
    must(stat(argument(argc, argv, 1), &status), "stat");
    printf("file %llx:%llu\n", (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
    return 0;
}
