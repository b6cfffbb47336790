"""Pack the clients as their registries want them into dist/, and try each from a project outside.

``python clients/packages.py [LANGUAGE...]`` makes an empty folder for each language, in which a
small project depends on the packed library and serves a random agent, until a broker greets it.
The archives are kept in ``dist/LANGUAGE``.  Nothing is uploaded.  It needs what `make clients`
needs, and the network if a cache is empty.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
DIST = HERE.parent / "dist"
MODULE = "dovetail.example/dovetail"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mine</groupId><artifactId>mine</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>dev.dovetail</groupId><artifactId>dovetail</artifactId><version>VERSION</version>
    </dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.12.1</version></plugin>
    <plugin><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version></plugin>
  </plugins></build>
</project>
"""
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(mine CXX)
find_package(dovetail VERSION REQUIRED)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE dovetail::dovetail)
"""


def run(*words: str | Path, cwd: Path, **variables: str) -> str:
    """Return what a command printed.

    Raises:
        subprocess.CalledProcessError: it failed; its output is on standard error.
    """
    done = subprocess.run(
        [str(each) for each in words], cwd=cwd, env=os.environ | variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stdout)
        done.check_returncode()
    return done.stdout


def version() -> str:
    """Return the version that all clients have."""
    text = (HERE.parent / "src/dovetail/_version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.+)"', text)
    assert found is not None
    return found.group(1)


def rust(mine: Path, kept: Path) -> list[list[str | Path]]:
    """Depend on the crate that ``cargo package`` makes and builds."""
    crate = HERE / "rust"
    run("cargo", "package", "--locked", "--allow-dirty", "--quiet", cwd=crate)
    packed = crate / f"target/package/dovetail-{version()}.crate"
    shutil.copy(packed, kept)
    shutil.unpack_archive(kept / packed.name, mine, format="gztar")
    (mine / "src").mkdir()
    shutil.copy(crate / "examples/random.rs", mine / "src/main.rs")
    (mine / "Cargo.toml").write_text(
        f'[package]\nname = "mine"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\n'
        f'dovetail = {{ path = "dovetail-{version()}" }}\n\n[workspace]\n'
    )
    shutil.copytree(crate / ".cargo", mine / ".cargo")
    shutil.copy(crate / "Cargo.lock", mine)
    run("cargo", "build", "--quiet", cwd=mine, CARGO_TARGET_DIR=str(mine / "target"))
    return [[mine / "target/debug/mine"]]


def typescript(mine: Path, kept: Path) -> list[list[str | Path]]:
    """Depend on the archive of ``npm pack``."""
    client = HERE / "typescript"
    run("make", "build", cwd=client)
    run("npm", "pack", "--silent", "--pack-destination", kept, cwd=client)
    (packed,) = kept.glob("*.tgz")
    run("npm", "init", "-y", cwd=mine)
    run("npm", "pkg", "set", "type=module", cwd=mine)
    run("npm", "install", "--silent", "--no-audit", "--no-fund", packed, cwd=mine)
    shutil.copy(client / "examples/first.ts", mine)
    tsc = client / "node_modules/.bin/tsc"
    types = ["--typeRoots", str(client / "node_modules/@types"), "--types", "node"]
    run(tsc, "--module", "nodenext", "--target", "es2022", "--strict", *types, "first.ts", cwd=mine)
    return [["node", mine / "first.js"]]


def go(mine: Path, kept: Path) -> list[list[str | Path]]:
    """Depend on the module as a proxy serves it: a zip, its go.mod and a line of JSON."""
    client, tag = HERE / "go", f"v{version()}"
    served = mine / "proxy" / MODULE / "@v"
    served.mkdir(parents=True)
    listed = run("git", "ls-files", cwd=client).split()
    with zipfile.ZipFile(served / f"{tag}.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name in listed:
            file.write(client / name, f"{MODULE}@{tag}/{name}")
    shutil.copy(served / f"{tag}.zip", kept / f"dovetail-{tag}.zip")
    shutil.copy(client / "go.mod", served / f"{tag}.mod")
    (served / f"{tag}.info").write_text(f'{{"Version": "{tag}"}}\n')
    (served / "list").write_text(f"{tag}\n")
    shutil.copy(client / "examples/random/main.go", mine)
    proxies = run("go", "env", "GOPROXY", cwd=mine).strip()
    env = {
        "GOPROXY": f"{(mine / 'proxy').as_uri()},{proxies}",
        "GONOSUMDB": "dovetail.example",
        "GOFLAGS": "-mod=mod",
        "GOMODCACHE": str(mine / "modules"),
    }
    run("go", "mod", "init", "mine", cwd=mine, **env)
    run("go", "get", f"{MODULE}@{tag}", cwd=mine, **env)
    run("go", "build", "-o", "mine", ".", cwd=mine, **env)
    run("go", "clean", "-modcache", cwd=mine, **env)  # it is not writable
    return [[mine / "mine"]]


def java(mine: Path, kept: Path) -> list[list[str | Path]]:
    """Depend on the installed artefact; its sources and javadoc are packed beside it."""
    client = HERE / "java"
    run("mvn", "-q", "-B", "install", "-DskipTests", cwd=client)
    for kind in ("", "-sources", "-javadoc"):
        path = client / f"target/dovetail-{version()}{kind}.jar"
        names = zipfile.ZipFile(path).namelist()
        assert not any("examples" in each for each in names), f"{path} has the examples"
        shutil.copy(path, kept)
    shutil.copy(client / "pom.xml", kept / f"dovetail-{version()}.pom")
    source = mine / "src/main/java/mine"
    source.mkdir(parents=True)
    text = (client / "examples/dev/dovetail/examples/RandomAgent.java").read_text()
    (source / "RandomAgent.java").write_text(text.replace("dev.dovetail.examples", "mine"))
    (mine / "pom.xml").write_text(POM.replace("VERSION", version()))
    run("mvn", "-q", "-B", "compile", "dependency:copy-dependencies", cwd=mine)
    return [
        ["java", "-cp", f"{mine}/target/classes:{mine}/target/dependency/*", "mine.RandomAgent"]
    ]


def cpp(mine: Path, kept: Path) -> list[list[str | Path]]:
    """Depend on what the sources' archive installs, by find_package and by pkg-config."""
    client, prefix, build = HERE / "cpp", mine / "installed", mine / "build"
    name = f"dovetail-cpp-{version()}"
    with tarfile.open(kept / f"{name}.tar.gz", "w:gz") as file:
        for each in run("git", "ls-files", cwd=client).split():
            file.add(client / each, f"{name}/{each}")
    shutil.unpack_archive(kept / f"{name}.tar.gz", mine)
    options = [
        "-DDOVETAIL_TESTS=OFF",
        "-DDOVETAIL_PROGRAMS=OFF",
        f"-DCMAKE_INSTALL_PREFIX={prefix}",
    ]
    run("cmake", "-S", mine / name, "-B", build, *options, cwd=mine)
    run("cmake", "--build", build, "-j", "2", "--target", "install", cwd=mine)
    shutil.copy(client / "examples/random.cpp", mine / "main.cpp")
    (mine / "CMakeLists.txt").write_text(CMAKE.replace("VERSION REQUIRED", f"{version()} REQUIRED"))
    run("cmake", "-S", ".", "-B", "mine", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=mine)
    run("cmake", "--build", "mine", cwd=mine)
    (found,) = prefix.rglob("dovetail.pc")
    flags = run("pkg-config", "--cflags", "--libs", "dovetail", cwd=mine,
                PKG_CONFIG_PATH=str(found.parent)).split()  # fmt: skip
    run("c++", "-std=c++17", "main.cpp", *flags, "-o", "by-pkg-config", cwd=mine)
    return [[mine / "mine/mine"], [mine / "by-pkg-config"]]


LANGUAGES: dict[str, Callable[[Path, Path], list[list[str | Path]]]] = {
    each.__name__: each for each in (rust, typescript, go, java, cpp)
}


def greeted(program: list[str | Path], broker: str) -> str:
    """Return the line with which a program says that the broker has taken it."""
    env = os.environ | {"DOVETAIL_BROKER": broker}
    with subprocess.Popen(
        [str(each) for each in program], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as peer:  # fmt: skip
        assert peer.stdout is not None
        line = next((line for line in peer.stdout if " ready at " in line), "")
        peer.terminate()
    if not line:
        sys.exit(f"{program[0]} was not greeted by the broker")
    return line.strip()


def main(names: list[str]) -> int:
    """Pack and try the clients of some languages, or of all; return the exit code."""
    dovetail = Path(sys.executable).with_name("dovetail")
    words = [str(dovetail), "broker", "--journal", "none", "--bind", "tcp://127.0.0.1:*"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as it:
        try:
            assert it.stdout is not None
            address = re.search(r"tcp://\S+", it.stdout.readline())
            assert address is not None
            for name in names or LANGUAGES:
                kept = DIST / name
                shutil.rmtree(kept, ignore_errors=True)
                kept.mkdir(parents=True)
                with tempfile.TemporaryDirectory() as folder:
                    for program in LANGUAGES[name](Path(folder), kept):
                        print(f"{name}: {greeted(program, address.group())}", flush=True)
        finally:
            it.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
