"""The embedding service that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.adapters.chat.steady import Care
from memolith.adapters.clients.keys import (
    check_url,
    check_variable,
    key_in_file,
    key_in_variable,
)
from memolith.adapters.embedders.model_folder import SETTING
from memolith.adapters.embedders.sentence_transformers import (
    SentenceTransformersVectors,
    kept_name,
)
from memolith.adapters.embedders.service import Limits, ServiceEmbedder
from memolith.errors import InvalidConfiguration
from memolith.policies.embedding_models import chosen
from memolith.policies.retrying import Retrying

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.adapters.embedders.service import VectorService
    from memolith.config.settings import Embedding
    from memolith.policies.embedding_models import ChosenModel

LOCAL_MODEL: Final = "all-MiniLM-L6-v2"
"""The model that comes with Memolith, and no name at any service."""

_SECTION: Final = "embedding"
_KEY_OF_OPENAI: Final = "OPENAI_API_KEY"


def service_embedder(own: Embedding, env: Mapping[str, str]) -> ServiceEmbedder:
    """Return an embedder that asks the service that is configured; nothing is asked yet.

    Args:
        own: The settings; the provider is any but `local`.
        env: The environment: its key is in there, under the name that the settings give.

    Raises:
        InvalidConfiguration: No model is named, it has no vectors of that length, the service's
            client is not installed, or its key is not there.
    """
    if own.model == LOCAL_MODEL:
        problem = f"name a model that {own.provider} has: {LOCAL_MODEL} is the local one"
        raise InvalidConfiguration(SETTING, problem)
    is_here = own.provider == "sentence-transformers"
    try:
        model = chosen(kept_name(own.model) if is_here else own.model, own.dimension)
    except ValueError as error:
        raise InvalidConfiguration("embedding.dimension", str(error)) from None
    limits = Limits(own.batch_size, own.batch_chars)
    care = Care(retrying=Retrying(total_s=own.timeout_ms / 1000))
    return ServiceEmbedder(_service(own, model, env), model, limits, care)


def _service(own: Embedding, model: ChosenModel, env: Mapping[str, str]) -> VectorService:
    timeout_s = own.timeout_ms / 1000
    if own.provider == "sentence-transformers":
        return SentenceTransformersVectors(model, own.model)
    check_url(own.base_url, _SECTION)
    key = _key(own, env)
    if own.provider == "ollama":
        from memolith.adapters.embedders.ollama import OllamaVectors

        return OllamaVectors(model, api_key=key, base_url=own.base_url, timeout_s=timeout_s)
    from memolith.adapters.embedders.openai import OpenAIVectors

    return OpenAIVectors(model, api_key=key, base_url=own.base_url, timeout_s=timeout_s)


def _key(own: Embedding, env: Mapping[str, str]) -> str:
    """Return the key: OpenAI's goes to OpenAI alone, unless the settings say otherwise."""
    if own.api_key_file:
        return key_in_file(own.api_key_file, _SECTION)
    check_variable(own.api_key_env, _SECTION)
    is_openai = own.provider == "openai" and not own.base_url
    variable = own.api_key_env or (_KEY_OF_OPENAI if is_openai else "")
    return key_in_variable(variable, _SECTION, env, is_wanted=bool(variable))
