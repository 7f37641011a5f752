#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Sets properties in a Hadoop settings file that others have written."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hadoop_properties
short_description: Sets properties in a Hadoop settings file and leaves all else as it is
description:
  - Changes the values of properties in a file such as yarn-site.xml, and adds those that the file lacks.
  - Comments, order, white space and all other properties stay byte by byte.
  - A property that is there more than once gets the value everywhere, since Hadoop takes the last.
version_added: 0.1.0
author: the heddle authors (@heddle)
options:
  path:
    description: The file, which must exist.
    type: path
    required: true
  properties:
    description: Values by property.
    type: dict
    required: true
  backup:
    description: Keep a copy of the file beside it.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Says what would change and changes nothing.
  diff_mode:
    support: full
    description: Shows the lines that change.
"""

EXAMPLES = r"""
- name: Turn node labels on
  heddle.cluster.hadoop_properties:
    path: /etc/hadoop/conf/yarn-site.xml
    properties:
      yarn.node-labels.enabled: "true"
"""

RETURN = r"""
backup_file:
  description: The copy, if one was made.
  returned: when the file has changed and backup is true
  type: str
"""

import os  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
from xml.etree import ElementTree  # noqa: E402
from xml.sax.saxutils import escape  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PROPERTY = re.compile(r"<property\b[^>]*>(.*?)</property>", re.DOTALL)
NAME = re.compile(r"<name>(.*?)</name>", re.DOTALL)
VALUE = re.compile(r"<value>.*?</value>|<value\s*/>", re.DOTALL)
END = re.compile(r"</configuration\s*>\s*$")


class BadFile(Exception):
    """The file is none of Hadoop's settings, with the reason."""


def parsed(text):
    """Returns the values by property, as Hadoop reads them."""
    try:
        root = ElementTree.fromstring(text.encode("utf-8"))
    except ElementTree.ParseError as error:
        raise BadFile("it is no XML: %s" % error) from error
    if root.tag != "configuration":
        raise BadFile("its outermost element is %s; want configuration" % root.tag)
    return {
        (p.findtext("name") or "").strip(): p.findtext("value") or ""
        for p in root.iter("property")
    }


def unescaped(text):
    return ElementTree.fromstring("<name>%s</name>" % text).text or ""


def with_properties(text, properties):
    """Returns the text with these values, and with all else as it was."""
    # In a copy of the same length, spaces take the place of comments, so that what
    # is in comments is not found.
    bare = COMMENT.sub(lambda m: " " * len(m.group()), text)
    edits, found = [], set()
    for block in PROPERTY.finditer(bare):
        name = NAME.search(block.group(1))
        if name is None:
            continue
        key = unescaped(name.group(1)).strip()
        if key not in properties:
            continue
        found.add(key)
        element = "<value>%s</value>" % escape(properties[key])
        value = VALUE.search(bare, block.start(1), block.end(1))
        if value is None:
            at = block.start(1) + name.end()
            edits.append((at, at, element))
        else:
            edits.append((value.start(), value.end(), element))
    missing = [key for key in properties if key not in found]
    if missing:
        end = END.search(bare)
        if end is None:
            raise BadFile("it does not end with </configuration>")
        lines = "".join(
            "  <property>\n    <name>%s</name>\n    <value>%s</value>\n  </property>\n"
            % (escape(key), escape(properties[key]))
            for key in missing
        )
        start = end.start()
        if start and text[start - 1] != "\n":
            lines = "\n" + lines
        edits.append((start, start, lines))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def write(module, path, text):
    handle, temporary = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "wb") as out:
        out.write(text.encode("utf-8"))
    # Owner and mode stay those of the file that is there.
    module.atomic_move(temporary, path)


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "properties": {"type": "dict", "required": True},
            "backup": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path = os.path.realpath(module.params["path"])  # a link stays one
    wanted = {k: as_text(v) for k, v in module.params["properties"].items()}
    try:
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
        present = parsed(before)
        lacking = {k: v for k, v in wanted.items() if present.get(k) != v}
        after = with_properties(before, lacking) if lacking else before
        now = parsed(after)
        wrong = [k for k, v in wanted.items() if now.get(k) != v]
        if wrong:
            raise BadFile("%s cannot be set by its form" % ", ".join(wrong))
    except (OSError, UnicodeDecodeError, BadFile) as error:
        module.fail_json(msg="set properties in %s: %s" % (path, error))
        return
    result = {
        "changed": bool(lacking),
        "diff": {"before": before, "after": after, "before_header": path, "after_header": path},
    }
    if lacking and not module.check_mode:
        if module.params["backup"]:
            result["backup_file"] = module.backup_local(path)
        write(module, path, after)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
