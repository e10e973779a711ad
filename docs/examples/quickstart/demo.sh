#!/bin/sh
# Shows reeval-build at work on a copy of this directory, with the fake sandbox. Needs reeval-build, python3 and git on
# PATH; no engine and no network. Leaves nothing behind, and fails when something is not as it says.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Neither the store nor git's settings of whoever runs this take part.
export REEVAL_BUILD_HOME="$demo/store" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

expect() { # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

show() { # COMMAND...: print a command and run it.
  printf '$'
  for argument in "$@"; do
    case $argument in
      *[!A-Za-z0-9_./:@=-]*) printf " '%s'" "$argument" ;;
      *) printf ' %s' "$argument" ;;
    esac
  done
  printf '\n'
  "$@"
}

build() { # OPTION...
  show reeval-build build --sandbox fake --harness claude-code --harness codex "$@"
}

# Build without lines about progress, print `STATUS PHASE...` for each status, and fail unless that is as expected.
build_quietly() { # EXPECTED
  build --json >"$demo/output" 2>"$demo/progress" || {
    cat "$demo/progress" >&2
    fail "the build failed"
  }
  sed -n '1p' "$demo/output"
  sed '1d' "$demo/output" >"$demo/build.json"
  phases=$(python3 -c '
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    nodes = json.load(file)["nodes"]
for status in ("failed", "skipped", "ran", "hit"):
    phases = sorted({node["phase"] for node in nodes if node["status"] == status})
    if phases:
        print(status + ":", *phases)
' "$demo/build.json")
  printf '%s\n' "$phases"
  expect "what was built" "$1" "$phases"
}

say "a project, what an agent is to find in it (environments.py), and the project's git repository"
cp -R "$here/." "$demo/quickstart"
cd "$demo/quickstart"
git -C project init --quiet
git -C project add --all
git -C project -c user.name=Demo -c user.email=demo@example.com commit --quiet --message "shelf 1.0.0"
git -C project tag v1.0.0
show ls

say "build 2 environments x 2 harnesses; what they have in common is built once"
build 2>&1

say "the graph of what was built"
show reeval-build graph --sandbox fake --harness claude-code --harness codex

say "build again: nothing runs"
build_quietly "hit: base files root rules setup snapshot workspace"

say "edit the rules: what stands on them runs, and nothing else"
show sh -c 'echo "- Keep lines under 100 characters." >>rules.md'
build_quietly "ran: root rules setup snapshot
hit: base files workspace"

say "run a command in a sandbox that starts from a snapshot, and see what it changed"
show reeval-build run base@claude-code --sandbox fake --diff-json "$demo/changes.json" -- sh -c '
  .venv/bin/python -m shelf search whale
  echo "The Time Machine" >wishes.txt
  sed s/casefold/lower/ src/shelf/index.py >new && mv new src/shelf/index.py
  rm README.md' 2>"$demo/progress" || {
  cat "$demo/progress" >&2
  fail "the run failed"
}
changes=$(python3 -c '
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    print(*sorted(change["change"] + " " + change["path"] for change in json.load(file)["changes"]), sep=", ")
' "$demo/changes.json")
expect "what changed" "added wishes.txt, changed src/shelf/index.py, deleted README.md" "$changes"

say "all of it was as expected"
