#!/usr/bin/env python3
"""Makes the golden files of this folder: `NAME.bin` in an encoding, and beside it `NAME.utf8`, the same text.

    python3 tests/golden/make.py

The text is that of `prose/`, written for this crate, in an order and in lines that depend on the name alone. Each file is encoded by Python's
codecs or by iconv, and decoded again by the other one where it knows the encoding: both must agree. `tests/it/encodings.rs` reads them.
"""

import pathlib
import random
import subprocess

HERE = pathlib.Path(__file__).parent

# Name, label for capread, languages, made by, Python's codec, iconv's name (None: it has no such one), mark in front.
FILES = [
    ("utf-8", "utf-8", ["en", "el", "ja", "he"], "python", "utf-8", "UTF-8", b""),
    ("utf-8-mark", "utf-8", ["zh-hans", "ru"], "python", "utf-8", "UTF-8", b"\xef\xbb\xbf"),
    ("utf-16le-mark", "utf-8", ["ko", "en", "emoji"], "iconv", "utf-16-le", "UTF-16LE", b"\xff\xfe"),
    ("utf-16be-mark", "utf-8", ["ja", "de", "emoji"], "python", "utf-16-be", "UTF-16BE", b"\xfe\xff"),
    ("utf-16le", "utf-16le", ["fr", "ru", "emoji"], "python", "utf-16-le", "UTF-16LE", b""),
    ("utf-16be", "utf-16be", ["zh-hant", "en"], "iconv", "utf-16-be", "UTF-16BE", b""),
    ("gbk", "gbk", ["zh-hans", "en"], "iconv", "gbk", "GBK", b""),
    ("gb18030", "gb18030", ["zh-hans", "ar", "ko", "emoji"], "python", "gb18030", "GB18030", b""),
    ("big5", "big5", ["zh-hant"], "python", "big5", "BIG5", b""),
    ("shift_jis", "shift_jis", ["ja", "en", "kana"], "python", "cp932", "CP932", b""),
    ("euc-jp", "euc-jp", ["ja", "kana"], "iconv", "euc_jp", "EUC-JP", b""),
    ("iso-2022-jp", "iso-2022-jp", ["ja", "en"], "iconv", "iso2022_jp", "ISO-2022-JP", b""),
    ("euc-kr", "euc-kr", ["ko"], "python", "cp949", "CP949", b""),
    ("windows-1252", "windows-1252", ["fr", "de", "es", "sv"], "python", "cp1252", "CP1252", b""),
    ("windows-1251", "windows-1251", ["ru", "uk"], "iconv", "cp1251", "CP1251", b""),
    ("koi8-r", "koi8-r", ["ru", "en"], "python", "koi8_r", "KOI8-R", b""),
    ("koi8-u", "koi8-u", ["uk"], "iconv", "koi8_u", "KOI8-U", b""),
    ("iso-8859-2", "iso-8859-2", ["pl", "cs", "hu"], "iconv", "iso8859_2", "ISO-8859-2", b""),
    ("iso-8859-7", "iso-8859-7", ["el"], "python", "iso8859_7", "ISO-8859-7", b""),
    ("windows-1254", "windows-1254", ["tr"], "iconv", "cp1254", "CP1254", b""),
    ("windows-1255", "windows-1255", ["he"], "python", "cp1255", "CP1255", b""),
    ("windows-1256", "windows-1256", ["ar"], "iconv", "cp1256", "CP1256", b""),
    ("windows-874", "windows-874", ["th"], "python", "cp874", "CP874", b""),
    ("macintosh", "macintosh", ["fr", "es"], "python", "mac_roman", "MACINTOSH", b""),
]

EXTRA = {
    "emoji": ["😀 means a face, 𠀀 is a rare character, and 🜁 is air.", "𝒳😀𝒴", "🇫🇷🇩🇪"],
    "kana": ["ﾊﾝｶｸｶﾅ ﾓ ﾌﾂｳ ﾉ ｶﾅ ﾓ ｱﾙ", "ｱｲｳｴｵ"],
}

BYTES = 5000


def sentences(language):
    if language in EXTRA:
        return EXTRA[language]
    return (HERE / "prose" / f"{language}.txt").read_text(encoding="utf-8").splitlines()


def text(name, languages):
    """Lines of one to six sentences, some empty, some with CRLF, a very long one, and no break behind the last."""
    pool = [sentence for language in languages for sentence in sentences(language)]
    choice = random.Random(name)
    lines, size = [], 0
    while size < BYTES:
        count = choice.choice([0, 1, 1, 1, 2, 3, 6])
        if len(lines) == 12:
            count = 20
        line = " ".join(choice.choices(pool, k=count)) + choice.choice(["\n", "\n", "\n", "\r\n"])
        lines.append(line)
        size += len(line.encode("utf-8"))
    return "".join(lines).rstrip("\r\n") + choice.choice(["", "\n"])


def iconv(source, target, data):
    return subprocess.run(["iconv", "-f", source, "-t", target], input=data, stdout=subprocess.PIPE, check=True).stdout


def main():
    for name, _, languages, tool, codec, other, mark in FILES:
        content = text(name, languages)
        utf8 = content.encode("utf-8")
        if tool == "python":
            encoded = content.encode(codec)
            assert iconv(other, "UTF-8", encoded) == utf8, name
        else:
            encoded = iconv("UTF-8", other, utf8)
            assert encoded.decode(codec) == content, name
        (HERE / f"{name}.bin").write_bytes(mark + encoded)
        (HERE / f"{name}.utf8").write_bytes(utf8)
        print(f"{name}: {len(mark + encoded)} bytes by {tool}")


if __name__ == "__main__":
    main()
