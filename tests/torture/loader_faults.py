"""Texts that are no specs: mutated, random, or built to exhaust whoever reads them."""

import random
import resource
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lnlab.errors import SpecError
from lnlab.specfile.load import load_spec
from tests.support.forking import servers
from tests.torture.faults import Tally, fault, sample

GROUP = "Texts that are no specs"
PROMISE = "each mistake is one line with its place, and no text costs more than 50 ms and 64 MiB"
PROMISE_OF_BOMBS = "one that was built to cost more takes a second at most"
SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.yaml"))
INPUTS, OF_THE_SUITE, PORTION = 100_000, 500, 250
LONGEST, LONGEST_BUILT = 0.05, 1.0
"""Seconds of a processor that a text may cost: one of a few lines, and one that was built to cost many."""
MOST_MEMORY = 64
"""MiB by which the process may grow while it reads."""
SCRAPS = (
    *"\0\t\r\n:-#&*!|>%@`'\"{}[],?~\\",
    *(
        "<<: ", "---\n", "...\n", "%YAML 1.1\n", "!!python/object:os.system ", "&a [*a]", "*b", "? ", "- - - ", "{{",
        "]]",
    ),
    *(
        "\ufeff", "\u2028", "\x85", "\ud800", "\U0001f642", "1e999", "0x", "1_000", ".nan", "-.inf", "no", "1:30",
        "9" * 500,
    ),
    *("<<<<<<< HEAD\n", "null", "''", '"\\ud800"', '"\\x00"', "|2-\n", ">+\n  ", "# ", "\n\t", "  \n \n", "2001-01-01"),
)  # fmt: skip


def mutated(rng: random.Random, lines: Sequence[str]) -> bytes:
    """Some lines of a spec after a few changes, or bytes of any kind."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(200))
    start = rng.randrange(len(lines))
    text = "lnlab: 2\n" * (rng.random() < 0.5) + "".join(lines[start : start + rng.randrange(1, 12)])
    for _ in range(rng.randrange(1, 5)):
        at, length = rng.randrange(len(text) + 1), rng.randrange(6)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind == 1:
            text = text[:at] + rng.choice(SCRAPS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at : at + 20] * length + text[at:]
        else:
            text = text[:at] + chr(rng.choice([rng.randrange(1, 128), rng.randrange(128, 0xD7FF)])) + text[at + 1 :]
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if content and rng.random() < 0.2:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


@dataclass
class Reading:
    """What became of the texts that a job has read, and the most that one of them cost.

    Attributes:
        longest: seconds that a text may cost.
        slowest: seconds that one did cost.
        before: the largest memory of the process so far, in MiB.
        losses: a sentence for whatever reading did that it should not.
    """

    longest: float
    slowest: float = 0.0
    before: float = field(default_factory=lambda: largest_memory())
    losses: list[str] = field(default_factory=list)

    def read(self, path: Path, name: str, where: str) -> None:
        """Read a text as a spec; its mistakes are to name ``where``."""
        begun = time.process_time()
        try:
            load_spec(path)
        except SpecError as error:
            for problem in error.issues:
                if "\n" in str(problem) or where not in problem.where:
                    self.losses.append(f"{name}: not one line with its place: {problem!s:.80}")
        except BaseException as error:  # whatever it is, the user would see its traceback
            self.losses.append(f"{name}: {type(error).__name__}: {error!s:.80}")
        cost = time.process_time() - begun
        self.slowest = max(self.slowest, cost)
        if cost > self.longest:
            self.losses.append(f"{name}: takes {cost:.2f} s")

    def answer(self) -> tuple[list[str], float, float]:
        """Losses, seconds of the slowest text, and MiB by which the process has grown."""
        grown = largest_memory() - self.before
        if grown > MOST_MEMORY:
            self.losses.append(f"takes {grown:.0f} MiB")
        return self.losses, self.slowest, grown


def largest_memory() -> float:
    """The largest resident memory that this process has had, in MiB; a fork begins with its parent's present one."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def count_answers(tally: Tally, answers: Iterable[tuple[list[str], float, float]]) -> None:
    """Add the losses of jobs, and what the costliest text took."""
    slowest = grown = 0.0
    for losses, seconds, memory in answers:
        tally.lost += losses
        slowest, grown = max(slowest, seconds), max(grown, memory)
    tally.notes.append(f"at most {1000 * slowest:.0f} ms and {grown:.0f} MiB")


def fuzzed_job(folder: str, seed: int, count: int) -> tuple[list[str], float, float]:
    """Read so many texts from a file."""
    rng, path, reading = random.Random(seed), Path(folder) / f"{seed}.yaml", Reading(LONGEST)
    lines = [path.read_text().splitlines(keepends=True) for path in SPECS]
    for number in range(count):
        path.write_bytes(mutated(rng, rng.choice(lines)))
        reading.read(path, f"text {number} of seed {seed}", path.name)
    return reading.answer()


@fault(GROUP, "lines of shipped specs with random changes, and random bytes", PROMISE)
def fuzzed(folder: Path, full: bool) -> Tally:
    """Texts drawn from seeds, read from files."""
    tally = Tally(injected=INPUTS if full else OF_THE_SUITE)
    pool = servers()

    def read(seed: int) -> tuple[list[str], float, float]:
        return pool.answer(f"{__name__}:fuzzed_job", str(folder), seed, PORTION)

    count_answers(tally, pool.map(read, range(tally.injected // PORTION)))
    return tally


def bombs() -> dict[str, bytes]:
    """Texts that are small and ask for much, or are at the limits of what may be written."""
    laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    nested = {
        f"{count:,} levels of {name}": one * count
        for count in (33, 1000, 10**5)
        for name, one in {
            "lists": "[",
            "mappings": "{a: ",
            "dashes": "- ",
            "keys": "? ",
            "quotes in lists": '["',
        }.items()
    }
    steps = {f"{count:,} indented levels": "".join(f"{' ' * n}a:\n" for n in range(count)) for count in (33, 500)}
    values = {
        "an integer of 200,000 digits": "a: " + "9" * 200_000,
        "a float of 200,000 digits": "a: 0." + "9" * 200_000,
        "an exponent of 100,000 digits": "a: 1e" + "9" * 100_000,
        "a hexadecimal of 200,000 digits": "a: 0x" + "f" * 200_000,
        "a scalar of 200,000 letters": "a: " + "x" * 200_000,
        "a key of 200,000 letters": "x" * 200_000 + ": 1",
        "a quoted text of 200,000 escapes": 'a: "' + "\\n" * 100_000 + '"',
        "10,000 keys": "".join(f"k{n}: 1\n" for n in range(10_000)),
        "a million keys": "".join(f"k{n}: 1\n" for n in range(10**6)),
        "a scalar of ten million letters": "a: " + "x" * 10**7,
        "one key 20,000 times": "k: 1\n" * 20_000,
        "100,000 items": f"a: [{'1,' * 100_000}]",
        "60,000 empty lines": "a: 1" + "\n" * 60_000 + "b: [",
        "60,000 comments": "#\n" * 60_000,
        "1,000 documents": "---\na: 1\n" * 1000,
        "a chain of 1,000 anchors": "".join(f"k{n}: &a{n} *a{n - 1}\n" if n else "k: &a0 1\n" for n in range(1000)),
        "aliases that unfold to a billion": laughs,
        "an alias inside what it names": "a: &a [*a]",
        "a merge of itself": "a: &a\n  <<: *a",
        "a tag of Python": "a: !!python/object/apply:os.system [id]",
        "a long tag": "a: !" + "x" * 100_000 + " 1",
        "a long anchor": "a: &" + "x" * 100_000 + " 1",
        "a directive": "%YAML 9.9\n---\na: 1",
        "colons": ":" * 100_000,
        "question marks": "? " * 50_000,
        "quotes that do not end": "a: '" + "'' " * 50_000,
        "backslashes": 'a: "' + "\\" * 100_001,
        "a lone surrogate": 'a: "\\ud800"',
        "tabs": "a:\n" + "\t" * 100_000 + "b: 1",
    }  # fmt: skip
    contents = {name: ("lnlab: 2\n" + text).encode() for name, text in (nested | steps | values).items()}
    contents |= {
        "nothing": b"",
        "a zero byte": b"lnlab: 2\n\0",
        "zero bytes": bytes(200_000),
        "a byte order mark and nothing": b"\xef\xbb\xbf",
        "three byte order marks": b"\xef\xbb\xbf" * 3 + b"lnlab: 2\n",
        "UTF-16": "lnlab: 2\n".encode("utf-16"),
        "UTF-32": "lnlab: 2\n".encode("utf-32"),
        "half a character": b"lnlab: 2\na: \xc3",
        "an encoded surrogate": b"lnlab: 2\na: \xed\xa0\x80",
        "an overlong encoding": b"lnlab: 2\na: \xc0\xaf",
    }
    return contents


def bombed_job(path: str, name: str) -> tuple[list[str], float, float]:
    """Read one of the bombs."""
    reading = Reading(LONGEST_BUILT)
    reading.read(Path(path), name, Path(path).name)
    return reading.answer()


@fault(GROUP, "texts built to exhaust memory, time or the stack", PROMISE_OF_BOMBS)
def bombed(folder: Path, full: bool) -> Tally:
    """Each in a process of its own."""
    names = list(contents := bombs())
    chosen = names if full else sample(names, 13)
    pool = servers()

    def read(number: int) -> tuple[list[str], float, float]:
        name, path = chosen[number], folder / f"bomb{number}.yaml"
        path.write_bytes(contents[name])
        code, answer = pool.call(f"{__name__}:bombed_job", str(path), name)
        return answer if code == 0 else ([f"{name}: ended with {code}: {answer}"], 0.0, 0.0)

    tally = Tally(len(chosen))
    count_answers(tally, pool.map(read, range(len(chosen))))
    return tally


def reserved_paths() -> list[str]:
    """Two hundred names that no spec should be able to write to or read from."""
    devices = ["CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))]
    roots = ["/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/self/environ", "~root", "~/.ssh/id_rsa"]
    climbs = [f"{'../' * n}etc/passwd" for n in range(1, 21)] + [f"a/{'../' * n}b" for n in range(1, 21)]
    encoded = ["%2e%2e/%2e%2e/etc", "..%2f..%2fetc", "..\\..\\etc", "\\\\host\\share", "C:\\x", "file:///etc/passwd"]
    odd = ["", " ", ".", "..", "/", "//", "///etc", "-", "--help", "-rf", "\x1b[31m", "\u202ex"]
    odd += [f"a{character}b" for character in "\n\r\t\0*?<>|:\"'`$;&(){}[]!#%^,=+@ \\"]
    odd += ["$(id)", "`id`", "${HOME}", "{{7*7}}", "a b ", " a", "a."]
    long = [letter * n for letter in ("x", "é", "/x", "../") for n in (200, 255, 256, 300, 1000, 4096, 5000)]
    alike = [f"{dots}{slash}{dots}{slash}etc" for dots in ("．．", "‥", "․․") for slash in "/／∕⁄⧸\\"]  # look like ../
    endings = (".", "/", "//", "/.", "/..", "::$DATA", ";x", "?x")
    alike += [f"{name}{ending}" for name in ("a", "a.yaml") for ending in endings]
    names = [*alike, *devices, *(f"{device}.yaml" for device in devices), *roots, *climbs, *encoded, *odd, *long]
    return list(dict.fromkeys(names))


def path_job(folder: str, names: Sequence[str]) -> tuple[list[str], float, float]:
    """Read each as the path of a spec, from an empty folder."""
    reading = Reading(LONGEST)
    for name in names:
        path = Path(folder) / name if not name.startswith(("/", "~")) else Path(name)
        reading.read(path, f"{name!r:.60}", "")
        reading.losses += [f"{name!r:.60} is there now" for _ in Path(folder).iterdir()]
    return reading.answer()


@fault(GROUP, "hostile paths in place of a spec's", PROMISE)
def hostile_paths(folder: Path, full: bool) -> Tally:
    """All of them, from an empty folder that stays empty."""
    names, tally = reserved_paths(), Tally()
    (folder / "empty").mkdir()
    tally.injected = len(names)
    count_answers(tally, [servers().answer(f"{__name__}:path_job", str(folder / "empty"), names)])
    return tally
