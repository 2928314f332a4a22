"""Tokens as text: lists of strings, or a tokenizer with the ids that it gave."""

from maskctl import _arrays, _native
from maskctl._native import Error


def sides_of(tokens, batch):
    """([token of each query], [token of each key]) of tokens: strings, (tokenizer, ids), or a dict
    {"q": ..., "kv": ...} of both; one list, twice, where they are the same. `batch` is the row of
    ids [B, S]; None where several are drawn."""
    if not isinstance(tokens, dict):
        one = _strings("tokens", tokens, batch)
        return one, one
    if set(tokens) != {"q", "kv"}:
        raise Error(f"tokens: a dict with {sorted(map(str, tokens))}; expected 'q' and 'kv'")
    return tuple(_strings(f"tokens[{side!r}]", tokens[side], batch) for side in ("q", "kv"))


def _strings(role, tokens, batch):
    if isinstance(tokens, (list, tuple)) and len(tokens) == 2 and not isinstance(tokens[0], str):
        tokens = _named_by(role, tokens[0], _ids(role, tokens[1], batch))
    if not isinstance(tokens, (list, tuple)) or not all(isinstance(one, str) for one in tokens):
        raise Error(f"{role}: expected strings, one for each token, or (tokenizer, ids)")
    return list(tokens)


def _ids(role, ids, batch):
    """The ids of one batch, as numbers of Python."""
    array, _ = _arrays.host(role, ids)
    rows = array.tolist()
    if rows and isinstance(rows[0], list):
        if len(rows) > 1 and batch is None:
            raise Error(f"{role}: ids of {len(rows)} batches; draw one batch, as batch=0")
        rows = rows[0 if len(rows) == 1 else batch] if len(rows) == 1 or batch < len(rows) else None
    if rows is None or not all(isinstance(one, int) for one in rows):
        raise Error(f"{role}: expected ids [S], or [B, S] with a row for batch {batch}")
    return rows


def _named_by(role, tokenizer, ids):
    """What a tokenizer of transformers, tokenizers, sentencepiece or tiktoken calls each id."""
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        named = tokenizer.convert_ids_to_tokens(ids)
    else:
        one = next((getattr(tokenizer, name) for name in ("id_to_token", "id_to_piece") if hasattr(tokenizer, name)), None)
        if one is None and not hasattr(tokenizer, "decode"):
            raise Error(f"{role}: a {type(tokenizer).__name__} does not name ids: it has no convert_ids_to_tokens, "
                        "id_to_token, id_to_piece or decode; give strings")
        named = [one(i) if one else tokenizer.decode([i]) for i in ids]
    for i, name in zip(ids, named):
        if not isinstance(name, str):
            raise Error(f"{role}: the tokenizer has no token of id {i}")
    return list(named)


def write(tokens, batch, folder):
    """Writes them as the command reads them, a line each; returns the value of --tokens."""
    sides = sides_of(tokens, batch)
    files = [f"{folder}/{side}.txt" for side in ("q", "kv")]
    for file, strings in zip(files, sides):
        with open(file, "w", encoding="utf-8", errors="replace", newline="\n") as out:
            out.writelines(one.replace("\n", "\\n").replace("\r", "\\r") + "\n" for one in strings)
    return files[0] if sides[0] is sides[1] else f"q={files[0]},kv={files[1]}"


def labels_of(tokens, batch, queries, keys):
    """The tokens of an axis of queries and of one of keys, None where they are not known. Tokens
    that are given for both label each axis of their number."""
    q, k = sides_of(tokens, batch)
    fits_q, fits_k = len(q) == queries, len(k) == keys
    if not (fits_q or fits_k) or (q is not k and not (fits_q and fits_k)):
        given = f"{len(q)} tokens" if q is k else f"{len(q)} and {len(k)} tokens"
        raise Error(f"tokens: {given}, but the mask has {queries} queries and {keys} keys")
    return q if fits_q else None, k if fits_k else None
