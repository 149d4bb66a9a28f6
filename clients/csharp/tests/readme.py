"""Prints a C# class that runs the snippets of the README."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"

SOURCE = """using System;
using System.IO;
using System.Threading.Tasks;
using Aptix.Wire;

namespace Aptix.Tests
{
    internal static class Readme
    {
        internal static async Task RunAsync()
        {
%s        }
    }
}
"""

snippets = re.findall(r"^```csharp\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
print(SOURCE % "".join(snippets), end="")
