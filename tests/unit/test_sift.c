#include "home/sift.h"
#include "unit.h"

static struct buf out;

static const char *sifted(enum sifted file, const char *text)
{
    buf_free(&out);
    sift_text(file, text, strlen(text), &out);
    return buf_text(&out);
}

TEST(files_are_known_by_the_end_of_their_path)
{
    CHECK_INT(sifted_file("/home/u/.npmrc"), SIFTED_NPM);
    CHECK_INT(sifted_file("/home/u/.config/pip/pip.conf"), SIFTED_PIP);
    CHECK_INT(sifted_file("/home/u/.pip/pip.conf"), SIFTED_PIP_OLD);
    CHECK_INT(sifted_file("/home/u/.config/uv/uv.toml"), SIFTED_UV);
    CHECK_INT(sifted_file("/home/u/.config/pnpm/rc"), SIFTED_PNPM);
    CHECK_INT(sifted_file("/home/u/.yarnrc.yml"), SIFTED_YARN);
    CHECK_INT(sifted_file("/home/u/.yarnrc"), SIFTED_YARN_OLD);
    CHECK_INT(sifted_file("/home/u/.condarc"), SIFTED_CONDA);
    CHECK_INT(sifted_file("/usr/local/etc/npmrc"), SIFTED_NPM_SYSTEM);
    CHECK_INT(sifted_file("/etc/pip.conf"), SIFTED_PIP_SYSTEM);
    CHECK_STR(sifted_destination("/etc/pip.conf", "/home/u"), "/.pip/pip.conf");
    CHECK_INT(sifted_file("/home/u/.config/pypoetry/config.toml"), SIFTED_POETRY);
    CHECK_INT(sifted_file("/home/u/.config/pypoetry/auth.toml"), SIFTED_UNKNOWN);
    CHECK_INT(sifted_file("/home/u/.bunfig.toml"), SIFTED_BUN);
    CHECK_INT(sifted_file("/home/u/.claude.json"), SIFTED_CLAUDE);
    CHECK_INT(sifted_file("/home/u/x.npmrc"), SIFTED_UNKNOWN);
    CHECK_INT(sifted_file("/home/u/.netrc"), SIFTED_UNKNOWN);
    CHECK_STR(sifted_destination("/home/u/.claude.json", "/home/u"), "/.claude/.claude.json");
    CHECK(sifted_destination("/home/u/.claude-work/.claude.json", "/home/u") == NULL);
    CHECK(sifted_destination("/home/u/.npmrc", "/home/u") == NULL);
}

TEST(paths_of_certificates_pass_and_certificates_and_keys_do_not)
{
    CHECK_STR(sifted(SIFTED_NPM, "cafile=/etc/corp/ca.pem\n"
                                 "cert=\"-----BEGIN CERTIFICATE-----SECRET\"\n"
                                 "key=/home/u/SECRET.pem\n"
                                 "//a.test/:certfile=/home/u/SECRET.pem\n"),
              "cafile = /etc/corp/ca.pem\n");
    CHECK_STR(sifted(SIFTED_NPM, "cafile = ~/ca.pem ; SECRET\n"), "cafile = ~/ca.pem\n");
    CHECK_STR(sifted(SIFTED_NPM, "cafile=${HOME}/ca.pem\n"), "cafile = ${HOME}/ca.pem\n");
    CHECK_STR(
        sifted(SIFTED_NPM, "cafile=SECRET\ncafile=https://me:SECRET@a.test/\ncafile=/SECRET@a.test//x\n"),
        "");
    CHECK_STR(sifted(SIFTED_PIP, "[global]\ncert = /etc/corp/ca.pem\nclient-cert = /home/u/SECRET.pem\n"),
              "[global]\ncert = /etc/corp/ca.pem\n");
    CHECK_STR(sifted(SIFTED_CARGO, "[http]\ncainfo = \"/etc/corp/ca.pem\"\nproxy = \"SECRET\"\n"),
              "[http]\ncainfo = \"/etc/corp/ca.pem\"\n");
    CHECK_STR(sifted(SIFTED_YARN_OLD, "cafile \"/etc/corp/ca.pem\"\n"), "cafile \"/etc/corp/ca.pem\"\n");
    CHECK_STR(sifted(SIFTED_BUN, "[install]\ncafile = \"/etc/corp/ca.pem\"\nca = \"SECRET\"\n"),
              "[install]\ncafile = \"/etc/corp/ca.pem\"\n");
}

TEST(comments_are_left_out)
{
    CHECK_STR(sifted(SIFTED_NPM, "registry=https://a.test/ ; token: SECRET\n"
                                 "@a:registry=https://b.test/\t# SECRET@mail.test\n"
                                 "@b:registry=https://c.test/;SECRET\n"
                                 "@c:registry=https://d.test/ ?token=SECRET\n"),
              "registry = https://a.test/\n"
              "@a:registry = https://b.test/\n"
              "@b:registry = https://c.test/\n"
              "@c:registry = https://d.test/\n");
    CHECK_STR(sifted(SIFTED_PIP, "[global]\n"
                                 "index-url = https://a.test/simple # SECRET\n"
                                 "extra-index-url =\n"
                                 "    https://b.test/simple\n"
                                 "    # SECRET\n"
                                 "    ; SECRET\n"
                                 "    https://me:SECRET@c.test/simple  ; SECRET\n"),
              "[global]\n"
              "index-url = https://a.test/simple\n"
              "extra-index-url = \n"
              "    https://b.test/simple\n"
              "    https://c.test/simple\n");
}

TEST(a_name_before_a_host_that_is_not_understood_leaves_the_setting_out)
{
    CHECK_STR(sifted(SIFTED_NPM, "@a:registry=https://me:SEC#RET@a.test/\n"
                                 "@b:registry=https://me:SEC/RET@a.test/\n"
                                 "@c:registry=//me:SECRET@a.test/\n"
                                 "@d:registry=https:\\\\me:SECRET@a.test/\n"
                                 "@e:registry=https://me:SECRET@a.test/\n"),
              "@e:registry = https://a.test/\n");
    CHECK_STR(sifted(SIFTED_PIP, "[global]\ntrusted-host = me:SECRET@a.test\n"), "");
    CHECK_STR(sifted(SIFTED_YARN, "npmRegistryServer: \"https:\\/\\/me:SECRET@a.test\"\n"), "");
    CHECK_STR(
        sifted(SIFTED_MAVEN,
               "<settings><mirrors><mirror><id>a</id><url>https:&#47;&#47;me:SECRET@a.test</url>"
               "</mirror></mirrors></settings>"),
        "<settings>\n  <mirrors>\n    <mirror>\n      <id>a</id>\n    </mirror>\n  </mirrors>\n</settings>\n");
}

TEST(npm_keeps_registries_and_no_token)
{
    CHECK_STR(sifted(SIFTED_NPM, "registry=https://npm.corp.test/\n"
                                 "; a comment = x\n"
                                 "//npm.corp.test/:_authToken=SECRET\n"
                                 "@corp:registry = https://user:SECRET@npm.corp.test/x/?token=SECRET\r\n"
                                 "_auth=SECRET\n"
                                 "email=me@example.test\n"
                                 "//x/:registry=SECRET\n"
                                 "save-exact=true"),
              "registry = https://npm.corp.test/\n"
              "@corp:registry = https://npm.corp.test/x/\n"
              "save-exact = true\n");
    CHECK_STR(sifted(SIFTED_NPM, "_auth=SECRET\n"), "");
    CHECK_STR(sifted(SIFTED_NPM, ""), "");
}

TEST(a_password_with_an_at_sign_goes_as_a_whole)
{
    CHECK_STR(sifted(SIFTED_NPM, "registry=https://u:SEC@RET@host.test/a@b\n"),
              "registry = https://host.test/a@b\n");
    CHECK_STR(sifted(SIFTED_NPM, "registry=https://SECRET@host.test"), "registry = https://host.test\n");
    CHECK_STR(sifted(SIFTED_NPM, "registry=https://SECRET@"), "registry = https://\n");
}

TEST(a_password_in_a_section_or_a_key_keeps_all_of_it_out)
{
    CHECK_STR(sifted(SIFTED_PIP, "[x https://u:SECRET@h]\nindex-url = https://one.test/\n"), "");
    CHECK_STR(sifted(SIFTED_CARGO, "[source.\"https://u:SECRET@h\"]\nreplace-with = \"a\"\n"), "");
    CHECK_STR(
        sifted(SIFTED_NPM, "@u:SECRET@h:registry = https://one.test/\n@https://u:SECRET@h:registry=x\n"), "");
}

TEST(pip_keeps_indexes_of_several_lines)
{
    CHECK_STR(sifted(SIFTED_PIP, "[global]\n"
                                 "index-url = https://u:SECRET@pypi.corp.test/simple\n"
                                 "extra-index-url =\n"
                                 "    https://SECRET@one.test/simple\n"
                                 "    https://two.test/simple\n"
                                 "client-cert = /secret.pem\n"
                                 "    SECRET\n"
                                 "[install]\n"
                                 "trusted-host = pypi.corp.test\n"),
              "[global]\n"
              "index-url = https://pypi.corp.test/simple\n"
              "extra-index-url = \n"
              "    https://one.test/simple\n"
              "    https://two.test/simple\n"
              "[install]\n"
              "trusted-host = pypi.corp.test\n");
}

TEST(cargo_keeps_registries_and_mirrors)
{
    CHECK_STR(sifted(SIFTED_CARGO, "[registries.corp]\n"
                                   "index = \"sparse+https://u:SECRET@crates.corp.test/\"\n"
                                   "token = \"SECRET\"\n"
                                   "[registry]\n"
                                   "default = \"corp\"\n"
                                   "token = \"SECRET\"\n"
                                   "[source.crates-io]\n"
                                   "replace-with = \"corp\"\n"
                                   "[registries]\n"
                                   "other = { index = \"https://u:SECRET@x.test/\", token = \"SECRET\" }\n"
                                   "third = { token = \"SECRET\" , index=\"y\" }\n"
                                   "fourth = { token = \"SECRET, index = \\\"z\" }\n"
                                   "fifth = { token = [\"SECRET\"], index = \"SECRET\" }\n"
                                   "[build]\n"
                                   "rustc-wrapper = \"/evil\"\n"
                                   "jobs = 4\n"),
              "[registries.corp]\n"
              "index = \"sparse+https://crates.corp.test/\"\n"
              "[registry]\n"
              "default = \"corp\"\n"
              "[source.crates-io]\n"
              "replace-with = \"corp\"\n"
              "[registries]\n"
              "other = { index = \"https://x.test/\" }\n"
              "third = { index = \"y\" }\n"
              "[build]\n"
              "jobs = 4\n");
}

TEST(bun_keeps_registries)
{
    CHECK_STR(sifted(SIFTED_BUN,
                     "[install]\n"
                     "registry = { url = \"https://u:SECRET@npm.corp.test/\", token = \"SECRET\" }\n"
                     "cache = \"/x\"\n"
                     "exact = true\n"
                     "[install.scopes]\n"
                     "corp = \"https://u:SECRET@npm.corp.test/\"\n"
                     "\"@other\" = { token = \"$TOKEN\", url = \"https://other.test/?t=SECRET\" }\n"
                     "\"@https://u:SECRET@h\" = \"x\"\n"
                     "broken = { url = \"https://SECRET\n"
                     "[run]\n"
                     "preload = [\"/evil\"]\n"),
              "[install]\n"
              "registry = { url = \"https://npm.corp.test/\" }\n"
              "exact = true\n"
              "[install.scopes]\n"
              "corp = \"https://npm.corp.test/\"\n"
              "\"@other\" = { url = \"https://other.test/\" }\n");
    CHECK_STR(sifted(SIFTED_BUN, "[install]\nregistry = {\n"), "");
    CHECK_STR(sifted(SIFTED_BUN,
                     "[install]\nregistry = {}\nregistry = {\"}\nregistry = {url=\"}\nexact = {url = \"x }"),
              "");
}

TEST(uv_keeps_each_index)
{
    CHECK_STR(sifted(SIFTED_UV, "index-url = \"https://u:SECRET@pypi.corp.test/simple\"\n"
                                "keyring-provider = \"subprocess\"\n"
                                "[[index]]\n"
                                "name = \"one\"\n"
                                "url = \"https://SECRET@one.test/simple\"\n"
                                "authenticate = \"always\"\n"
                                "[[index]]\n"
                                "url = \"https://two.test/simple\"\n"
                                "default = true\n"
                                "[[https://u:SECRET@h]]\n"
                                "url = \"x\"\n"
                                "[[[index]]]\n"
                                "url = \"x\"\n"
                                "[pip]\n"
                                "index-url = \"https://three.test/\"\n"),
              "index-url = \"https://pypi.corp.test/simple\"\n"
              "[[index]]\n"
              "name = \"one\"\n"
              "url = \"https://one.test/simple\"\n"
              "[[index]]\n"
              "url = \"https://two.test/simple\"\n"
              "default = true\n"
              "[pip]\n"
              "index-url = \"https://three.test/\"\n");
}

TEST(yarn_keeps_registries_of_scopes)
{
    CHECK_STR(sifted(SIFTED_YARN, "npmRegistryServer: \"https://u:SECRET@npm.corp.test/\"\n"
                                  "npmAuthToken: SECRET\n"
                                  "nodeLinker: node-modules\n"
                                  "yarnPath: /evil.cjs\n"
                                  "npmScopes:\n"
                                  "  corp:\n"
                                  "    npmAuthToken: SECRET\n"
                                  "    npmRegistryServer: https://SECRET@npm.corp.test/scoped\n"
                                  "  other:\n"
                                  "    npmAlwaysAuth: true\n"
                                  "  third:\n"
                                  "    npmRegistryServer: 'https://third.test'\n"
                                  "npmRegistries:\n"
                                  "  \"https://u:SECRET@npm.corp.test\":\n"
                                  "    npmRegistryServer: SECRET\n"),
              "npmRegistryServer: \"https://npm.corp.test/\"\n"
              "nodeLinker: node-modules\n"
              "npmScopes:\n"
              "  corp:\n"
              "    npmRegistryServer: https://npm.corp.test/scoped\n"
              "  third:\n"
              "    npmRegistryServer: 'https://third.test'\n");
}

TEST(yarn_leaves_out_what_is_not_one_line)
{
    static const char *const values[] = {"|",       ">-",          "&a https://x", "*a",
                                         "!!str x", "[https://x]", "{a: b}",       "\"https://x",
                                         "'a' 'b'", "a: b",        "x #SECRET",    "\"a\" #SECRET",
                                         "",        "- x"};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char text[128];
        snprintf(text, sizeof(text), "npmRegistryServer: %s\n   SECRET\n", values[i]);
        CHECK_STR(sifted(SIFTED_YARN, text), "");
    }
    CHECK_STR(
        sifted(SIFTED_YARN, "\tnpmRegistryServer: x\n npmRegistryServer: x\nnpmRegistryServer:x\n: x\n"), "");
    CHECK_STR(sifted(SIFTED_YARN, "    npmRegistryServer: x\n  a:\n    npmRegistryServer: x\n"), "");
    CHECK_STR(sifted(SIFTED_YARN, "npmScopes: x\n  a:\n    npmRegistryServer: x\n"), "");
    CHECK_STR(sifted(SIFTED_YARN, "npmScopes:\n  a: y\n    npmRegistryServer: x\n"), "");
    CHECK_STR(sifted(SIFTED_YARN, "npmScopes:\n  a:\nother:\n    npmRegistryServer: x\n"), "");
}

TEST(conda_keeps_channels_without_tokens)
{
    CHECK_STR(sifted(SIFTED_CONDA, "# mine\n"
                                   "channels:\n"
                                   "  - https://conda.anaconda.org/t/SECRET/corp  # ours\n"
                                   "\n"
                                   "  # and theirs\n"
                                   "  - \"https://me:SECRET@conda.corp.test/t/SECRET/x?SECRET\"\n"
                                   "  - conda-forge\n"
                                   "default_channels:\n"
                                   "- defaults\n"
                                   "channel_alias: https://conda.corp.test/t/SECRET\n"
                                   "ssl_verify: /SECRET\n"
                                   "channel_priority: strict # a comment\n"
                                   "proxy_servers:\n"
                                   "  https: https://me:SECRET@proxy.test\n"
                                   "custom_channels:\n"
                                   "  corp: https://me:SECRET@conda.corp.test/channels\n"
                                   "  other: file:///srv/conda\n"
                                   "channel_settings:\n"
                                   "  - channel: https://x.test\n"
                                   "    auth: SECRET\n"
                                   "envs_dirs:\n"
                                   "  - /SECRET\n"),
              "channels:\n"
              "  - https://conda.anaconda.org/corp\n"
              "  - \"https://conda.corp.test/x\"\n"
              "  - conda-forge\n"
              "default_channels:\n"
              "  - defaults\n"
              "channel_alias: https://conda.corp.test\n"
              "channel_priority: strict\n"
              "custom_channels:\n"
              "  corp: https://conda.corp.test/channels\n"
              "  other: file:///srv/conda\n");
}

TEST(conda_leaves_out_a_list_of_which_an_item_is_not_understood)
{
    static const char *const items[] = {"- |\n    SECRET",
                                        "- a\n    SECRET",
                                        "- t/SECRET/x",
                                        "- \"t/SECRET/x\"",
                                        "- https:\\/\\/x",
                                        "- \"https://x\\/t\\/SECRET\"",
                                        "- https://x/%74/SECRET",
                                        "- a: SECRET",
                                        "-",
                                        "- [SECRET]",
                                        "SECRET",
                                        "- &a SECRET",
                                        "- me:SECRET@x",
                                        "  - SECRET",
                                        "key: SECRET"};
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
        char text[128];
        snprintf(text, sizeof(text), "channels:\n  - first\n  %s\n  - last\nsolver: x\n", items[i]);
        CHECK_STR(sifted(SIFTED_CONDA, text), "solver: x\n");
    }
    CHECK_STR(sifted(SIFTED_CONDA, "channels: [SECRET]\nchannels: SECRET\n  - SECRET\n- SECRET\n"), "");
    CHECK_STR(sifted(SIFTED_CONDA, "other:\n  channels:\n  - SECRET\n"), "");
    CHECK_STR(sifted(SIFTED_CONDA, "custom_channels:\n  a: https://x.test\n  b:\n    c: SECRET\n"), "");
    CHECK_STR(sifted(SIFTED_CONDA, "channel_alias: t/SECRET\nchannels:\n"), "");
}

TEST(yarn_1_keeps_registries)
{
    CHECK_STR(sifted(SIFTED_YARN_OLD, "# THIS IS AN AUTOGENERATED FILE.\n"
                                      "registry \"https://u:SECRET@npm.corp.test/\"\n"
                                      "\"@corp:registry\" \"https://npm.corp.test/scoped?SECRET\"\n"
                                      "@other:registry https://other.test\n"
                                      "\"//npm.corp.test/:_authToken\" SECRET\n"
                                      "_authToken SECRET\n"
                                      "yarn-path \"/evil.cjs\"\n"
                                      "strict-ssl true\n"),
              "registry \"https://npm.corp.test/\"\n"
              "\"@corp:registry\" \"https://npm.corp.test/scoped\"\n"
              "@other:registry https://other.test\n"
              "strict-ssl true\n");
    CHECK_STR(
        sifted(SIFTED_YARN_OLD, "registry x SECRET\n registry x\nregistry\nregistry: x\n\tregistry x\n"), "");
}

TEST(poetry_keeps_where_packages_come_from)
{
    CHECK_STR(sifted(SIFTED_POETRY, "cache-dir = \"/elsewhere\"\n"
                                    "[repositories.corp]\n"
                                    "url = \"https://u:SECRET@pypi.corp.test/simple\"\n"
                                    "[http-basic.corp]\n"
                                    "username = \"SECRET\"\n"
                                    "password = \"SECRET\"\n"
                                    "[pypi-token]\n"
                                    "corp = \"SECRET\"\n"
                                    "[virtualenvs]\n"
                                    "in-project = true\n"),
              "[repositories.corp]\n"
              "url = \"https://pypi.corp.test/simple\"\n"
              "[virtualenvs]\n"
              "in-project = true\n");
}

TEST(mise_keeps_versions_and_no_variable)
{
    CHECK_INT(sifted_file("/home/u/.config/mise/config.toml"), SIFTED_MISE);
    CHECK_STR(sifted(SIFTED_MISE, "[env]\n"
                                  "GITHUB_TOKEN = \"SECRET\"\n"
                                  "_.file = \"SECRET\"\n"
                                  "[tools]\n"
                                  "node = \"22\"\n"
                                  "python = [\"3.13\", \"3.12\"]\n"
                                  "go = { version = \"1.26\", postinstall = \"SECRET\" }\n"
                                  "ruby = [{ version = \"SECRET\" }]\n"
                                  "[settings]\n"
                                  "github_token = \"SECRET\"\n"
                                  "[tasks.x]\n"
                                  "run = \"SECRET\"\n"),
              "[tools]\n"
              "node = \"22\"\n"
              "python = [\"3.13\", \"3.12\"]\n"
              "go = { version = \"1.26\" }\n");
}

TEST(maven_keeps_mirrors_and_no_server)
{
    CHECK_STR(sifted(SIFTED_MAVEN,
                     "<settings><servers><server><id>a</id><password>SECRET</password></server></servers>\n"
                     "<mirrors><!-- <mirror><id>example</id></mirror> -->\n"
                     "<mirror><id>corp</id><mirrorOf>*</mirrorOf><password>SECRET</password>\n"
                     "<url>https://u:SECRET@maven.corp.test/all</url></mirror></mirrors></settings>"),
              "<settings>\n  <mirrors>\n    <mirror>\n      <id>corp</id>\n"
              "      <url>https://maven.corp.test/all</url>\n      <mirrorOf>*</mirrorOf>\n"
              "    </mirror>\n  </mirrors>\n</settings>\n");
    CHECK_STR(sifted(SIFTED_MAVEN, "<settings><mirrors><mirror>"), "");
}

TEST(nuget_keeps_sources_and_no_credential)
{
    CHECK_STR(sifted(SIFTED_NUGET,
                     "<configuration><packageSources><clear/>"
                     "<add key=\"corp\" value=\"https://u:SECRET@nuget.corp.test/v3\" protocolVersion=\"3\" "
                     "password=\"SECRET\" /></packageSources><packageSourceCredentials><corp>"
                     "<add key=\"ClearTextPassword\" value=\"SECRET\"/></corp></packageSourceCredentials>"),
              "<configuration>\n  <packageSources>\n    <clear />\n"
              "    <add key=\"corp\" value=\"https://nuget.corp.test/v3\" protocolVersion=\"3\" />\n"
              "  </packageSources>\n</configuration>\n");
}

TEST(claude_keeps_that_it_was_set_up)
{
    CHECK_STR(sifted(SIFTED_CLAUDE,
                     "{\n \"numStartups\": 3, \"theme\" : \"dark\",\n"
                     "\"mcpServers\": {\"x\": {\"env\": {\"TOKEN\": \"SECRET\", \"theme\": \"}\"}}},\n"
                     "\"projects\": {\"/other\": {\"history\": [\"SECRET \\\" , ]\"]}},\n"
                     "\"oauthAccount\": {\"emailAddress\": \"me@example.test\"},\n"
                     "\"primaryApiKey\": \"SECRET\", \"hasCompletedOnboarding\": true\n}\n"),
              "{\"theme\":\"dark\",\"oauthAccount\":{\"emailAddress\": \"me@example.test\"},"
              "\"hasCompletedOnboarding\":true}\n");
    CHECK_STR(sifted(SIFTED_CLAUDE, "{\"theme\": \"dark\", \"x\": "), "");
    CHECK_STR(sifted(SIFTED_CLAUDE, "[\"theme\"]"), "");
    CHECK_STR(sifted(SIFTED_CLAUDE, "{}"), "");
    CHECK_STR(sifted(SIFTED_CLAUDE, "{\"theme\": \"a\\"), "");
    CHECK_STR(sifted(SIFTED_CLAUDE, "{\"x\": ]}"), "");
    buf_free(&out);
}

UNIT_MAIN()
