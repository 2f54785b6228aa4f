"""What one call used, counted so that every vendor fits: all input in one number, its parts inside it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from infer_cost.checks import whole
from infer_cost.errors import InputError

LARGEST_COUNT = 10**18
"""A count above this is a mistake; it also keeps sums exact."""

INPUT_PARTS = (
    "cached_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "input_audio_tokens",
    "input_image_tokens",
)
OUTPUT_PARTS = ("reasoning_tokens", "output_audio_tokens", "output_image_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of one call. ``input_tokens`` is all of the input and ``output_tokens`` all of the output.

    Parameters
    ----------
    input_tokens : int
        All input: plain, read from a cache, written to one, audio and image [tokens].
    cached_tokens : int
        Part of the input that was read from a cache [tokens].
    cache_write_5m_tokens, cache_write_1h_tokens : int
        Parts of the input that were written to a cache kept for five minutes or an hour [tokens]. A vendor
        with a single kind of write uses the first.
    output_tokens : int
        All output, reasoning included [tokens].
    reasoning_tokens : int
        Part of the output that is reasoning [tokens]; it costs extra only where a list prices it apart.
    input_audio_tokens, input_image_tokens, output_audio_tokens, output_image_tokens : int
        Parts of input and output that aren't text, none of them cached [tokens].
    web_searches, requests : int
        Searches that the call made, and calls.

    Raises
    ------
    InputError
        If a count is negative, not a whole number, or the parts exceed the whole.

    Examples
    --------
    >>> Usage(input_tokens=12022, cached_tokens=12000, output_tokens=500).plain_input_tokens
    22
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    input_audio_tokens: int = 0
    input_image_tokens: int = 0
    output_audio_tokens: int = 0
    output_image_tokens: int = 0
    web_searches: int = 0
    requests: int = 1

    def __post_init__(self) -> None:
        """Refuse counts that can't be, and parts larger than their whole."""
        for item in fields(self):
            _count(item.name, getattr(self, item.name))
        self._check_parts("input_tokens", INPUT_PARTS)
        self._check_parts("output_tokens", OUTPUT_PARTS)

    def _check_parts(self, whole: str, parts: tuple[str, ...]) -> None:
        total = self._sum(parts)
        if total > getattr(self, whole):
            named = " + ".join(f"{part} {getattr(self, part)}" for part in parts if getattr(self, part))
            raise InputError(
                f"{named} is more than {whole} {getattr(self, whole)}, which counts all of it",
                field=whole,
                value=getattr(self, whole),
                allowed=f"at least {total}",
            )

    def _sum(self, parts: tuple[str, ...]) -> int:
        return sum(int(getattr(self, part)) for part in parts)

    @property
    def plain_input_tokens(self) -> int:
        """Text input that no cache had and none took [tokens]."""
        return self.input_tokens - self._sum(INPUT_PARTS)

    @property
    def visible_output_tokens(self) -> int:
        """Text output without the reasoning [tokens]."""
        return self.output_tokens - self._sum(OUTPUT_PARTS)

    @classmethod
    def from_openai(
        cls,
        prompt_tokens: int,
        completion_tokens: int,
        *,
        cached_tokens: int = 0,
        reasoning_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> Usage:
        """Return the usage of a report with cached input inside ``prompt_tokens`` (OpenAI and most others).

        >>> Usage.from_openai(62394, 214, cached_tokens=60024).plain_input_tokens
        2370
        """
        return cls(
            input_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            cache_write_5m_tokens=cache_write_tokens,
            output_tokens=completion_tokens,
            reasoning_tokens=reasoning_tokens,
        )

    @classmethod
    def from_anthropic(
        cls,
        input_tokens: int,
        output_tokens: int,
        *,
        cache_read_input_tokens: int = 0,
        cache_creation_5m_tokens: int = 0,
        cache_creation_1h_tokens: int = 0,
        web_search_requests: int = 0,
    ) -> Usage:
        """Return the usage of a report with cached and written input outside ``input_tokens`` (Anthropic).

        >>> Usage.from_anthropic(22, 500, cache_read_input_tokens=12000).input_tokens
        12022
        """
        outside = (input_tokens, cache_read_input_tokens, cache_creation_5m_tokens, cache_creation_1h_tokens)
        return cls(
            # A negative part must be refused under its own name, not hidden in the sum.
            input_tokens=sum(_count("input_tokens", count) for count in outside),
            cached_tokens=cache_read_input_tokens,
            cache_write_5m_tokens=cache_creation_5m_tokens,
            cache_write_1h_tokens=cache_creation_1h_tokens,
            output_tokens=output_tokens,
            web_searches=web_search_requests,
        )

    @classmethod
    def from_gemini(
        cls,
        prompt_token_count: int,
        candidates_token_count: int,
        *,
        thoughts_token_count: int = 0,
        cached_content_token_count: int = 0,
    ) -> Usage:
        """Return the usage of a report whose thoughts stand outside the candidates (Gemini): the two add up.

        >>> Usage.from_gemini(324, 1364, thoughts_token_count=495).output_tokens
        1859
        """
        return cls(
            input_tokens=prompt_token_count,
            cached_tokens=cached_content_token_count,
            output_tokens=_count("candidates_token_count", candidates_token_count)
            + _count("thoughts_token_count", thoughts_token_count),
            reasoning_tokens=thoughts_token_count,
        )


def _count(name: str, value: int) -> int:
    return whole(name, value, low=0, high=LARGEST_COUNT)
