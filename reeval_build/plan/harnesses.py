"""What installs the program of a harness, once its version is known."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from reeval_build.model.harness_recipes import HarnessRecipe
    from reeval_build.plan.locks import LockedHarness

# The archive that is hashed is the one that is installed: npm finds it, by its integrity, in the cache of the first
# command, which is nobody else's. Nothing of that stays, nor what npm, Node.js and scripts put into TMPDIR.
_NPM_INSTALL: Final = """\
set -e
made=$(mktemp -d)
export TMPDIR="$made"
cd "$made"
quietly="--cache=$made/cache --loglevel=warn --no-update-notifier"
npm pack $quietly {package} >/dev/null
integrity="sha512-$(node -p {script} ./*.tgz)"
if [ "$integrity" != {integrity} ]; then
  echo {package}" has other bytes here than "{integrity}", which it is locked as: $integrity" >&2
  exit 1
fi
npm install --global --prefer-offline --no-audit --no-fund $quietly {package}
cd /
rm -r "$made"
"""
_HASH: Final = (
    'require("crypto").createHash("sha512").update(require("fs").readFileSync(process.argv[1])).digest("base64")'
)


@attrs.frozen(kw_only=True)
class HarnessInstall:
    """The commands that install the program of a kind of harness, and the one that says whether it works.

    `version` is what it is called, None for what has no name. `needs` is a program that the commands need in the
    image, None when they are the project's own, of which nothing is known.
    """

    kind: str
    version: str | None
    install: tuple[str, ...]
    smoke: str

    needs: str | None = attrs.field(default=None, eq=False)
    timeout_s: float = attrs.field(eq=False)

    @property
    def label(self) -> str:
        """What people call it."""
        return self.kind if self.version is None else f"{self.kind} {self.version}"


def own_install(recipe: HarnessRecipe) -> HarnessInstall:
    """What installs a harness by the project's own commands."""
    assert recipe.package is None, "a package has a version that is looked up first"
    return HarnessInstall(
        kind=recipe.kind,
        version=recipe.version,
        install=recipe.install,
        smoke=recipe.smoke,
        timeout_s=recipe.timeout_s,
    )


def npm_install(recipe: HarnessRecipe, locked: LockedHarness) -> HarnessInstall:
    """What installs exactly one version of a harness that is an npm package, and refuses other bytes than these."""
    command = _NPM_INSTALL.format(
        package=shlex.quote(f"{locked.package}@{locked.version}"),
        integrity=shlex.quote(locked.integrity),
        script=shlex.quote(_HASH),
    )
    return HarnessInstall(
        kind=recipe.kind,
        version=locked.version,
        install=(command,),
        smoke=recipe.smoke,
        needs="npm",
        timeout_s=recipe.timeout_s,
    )
