"""Files that other programs obey later: one list for the prompt, the policy and the sandbox.

Three kinds. `INSTRUCTIONS` are read into the prompt of an agent. `TRAPS` act when a person merely
enters a folder, opens it in an editor or looks at its state: writing one asks, and the sandbox
keeps those that exist read-only. `OBEYED` act when a person gives a command that is harmless by
itself (`make`, `npm test`): writing one asks after strangers' text was read.
"""

from typing import Final

from hermes.lazy import LazyPattern

# The instruction files that our own prompt includes; see context/files.py.
INSTRUCTIONS: Final = ("AGENTS.md", "HERMES.md", "CLAUDE.md", ".cursorrules")

_AGENTS: Final = frozenset(
    {
        *INSTRUCTIONS,
        *("SOUL.md", "GEMINI.md", "AGENT.md", "CLAUDE.local.md", "AGENTS.override.md"),
        *(".hermes.md", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".mcp.json"),
        *("copilot-instructions.md", ".aider.conf.yml", "opencode.json", ".rules"),
        *(".cursor", ".claude", ".codex", ".gemini", ".windsurf", ".continue", ".roo", ".kiro"),
    }
)
_EDITORS: Final = frozenset(
    {
        *(".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".vimrc", ".exrc", ".nvimrc"),
        *(".nvim.lua", ".dir-locals.el", ".vim"),
    }
)
_SHELLS: Final = frozenset(
    {
        *(".envrc", ".direnv", ".autoenv", ".mise.toml", "mise.toml", ".mise", ".inputrc"),
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc"),
        *(".zshenv", ".zprofile", ".zlogin", ".tmux.conf", ".screenrc", ".gdbinit", ".lldbinit"),
    }
)
_GIT: Final = frozenset({".git", ".githooks", ".husky", ".gitmodules", ".gitconfig"})
# These act at once, by name alone, in any folder.
SELF_ACTING: Final = _AGENTS | _EDITORS | _SHELLS | _GIT

# These act with the next everyday command.
TRAPS: Final = SELF_ACTING | frozenset(
    {
        *("conftest.py", "sitecustomize.py", "usercustomize.py", "pyvenv.cfg", ".venv", "venv"),
        *(".tool-versions", ".python-version", ".pre-commit-config.yaml", "lefthook.yml"),
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "node_modules", ".cargo"),
        *(".github", ".gitlab-ci.yml", ".circleci", "Jenkinsfile", ".travis.yml", ".drone.yml"),
        *(
            ".gitattributes",
            ".editorconfig",
            "autoload",
            "crontab",
            "cron.d",
            "systemd",
            "autostart",
        ),
    }
)
OBEYED: Final = frozenset(
    {
        *("Makefile", "GNUmakefile", "CMakeLists.txt", "meson.build", "configure", "SConstruct"),
        *("Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "Rakefile", "Gemfile"),
        *("Vagrantfile", "Brewfile", "Procfile", "Earthfile", "BUILD", "BUILD.bazel", "WORKSPACE"),
        *("package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"),
        *("pnpm-workspace.yaml", "lerna.json", "nx.json", "turbo.json", "deno.json", "bunfig.toml"),
        *("Gruntfile.js", "gulpfile.js", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini"),
        *(
            "pytest.ini",
            "noxfile.py",
            "tasks.py",
            "fabfile.py",
            "Pipfile",
            "poetry.toml",
            "uv.toml",
        ),
        *("Cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml", "go.work", "go.mod"),
        *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew"),
        *(
            "gradle.properties",
            "pom.xml",
            "mvnw",
            "build.xml",
            "build.sbt",
            "mix.exs",
            "stack.yaml",
        ),
        *("composer.json", "Podfile", "Package.swift", "flake.nix", "shell.nix", "default.nix"),
        *("Containerfile", "compose.yml", "compose.yaml", "ansible.cfg", "azure-pipelines.yml"),
        *("bitbucket-pipelines.yml", ".rspec", ".irbrc", ".pryrc", ".Rprofile", ".perltidyrc"),
        *(".babelrc", ".bazelrc", ".mocharc.js", ".pylintrc", ".flake8", "mypy.ini", ".coveragerc"),
    }
)
_SELF = frozenset(name.casefold() for name in SELF_ACTING)
_TRAPS = frozenset(name.casefold() for name in TRAPS)
_OBEYED = frozenset(name.casefold() for name in OBEYED)
_TRAP_ENDS = LazyPattern(r".*\.(?:pth|code-workspace|sublime-project)")
_OBEYED_ENDS = LazyPattern(
    r".*\.(?:mk|gemspec|service|desktop|csproj|vcxproj|props|targets)"
    r"|.*\.config\.[cm]?[jt]s|\.(?:eslint|prettier|stylelint)rc(?:\..*)?|\.babelrc\..*"
    r"|(?:dockerfile|makefile|jenkinsfile)\..*|.*\.dockerfile|docker-compose.*\.ya?ml"
    r"|requirements.*\.(?:txt|in)|constraints.*\.txt"
)

# What git executes or follows inside a git directory; git itself writes the rest.
GIT_READ_ONLY: Final = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir")


def is_self_acting(name: str) -> bool:
    """Return True if a file of this name can act before a person runs any command on it."""
    return name.casefold() in _SELF or _TRAP_ENDS.fullmatch(name.casefold()) is not None


def has_trap(path: str) -> bool:
    """Return True if a component of the path is the name of a trap, in any letter case."""
    return any(
        part in _TRAPS or _TRAP_ENDS.fullmatch(part) for part in path.casefold().split("/") if part
    )


def is_obeyed(path: str) -> bool:
    """Return True if another program will obey this file, by itself or with a person's command."""
    name = path.casefold().rpartition("/")[2]
    return name in _OBEYED or _OBEYED_ENDS.fullmatch(name) is not None or has_trap(path)
