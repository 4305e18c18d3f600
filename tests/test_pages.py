"""The policy of self-contained pages."""

from __future__ import annotations

from xformer.pages import policy


def test_the_policy_names_style_and_script_by_their_hashes_and_forbids_the_rest() -> None:
    # printf 'a{}' | openssl dgst -sha256 -binary | base64, and the same for `1`
    assert policy("a{}", "1") == (
        "default-src 'none'; script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='; "
        "style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='; img-src data:"
    )
