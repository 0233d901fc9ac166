"""The embedding service that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.adapters.chat.steady import ServiceGuard
from memolith.adapters.clients.keys import (
    check_url,
    check_variable,
    read_key_file,
    read_key_variable,
)
from memolith.adapters.embedders.model_folder import MODEL_SETTING
from memolith.adapters.embedders.sentence_transformers import (
    SentenceTransformersVectorService,
    get_stored_model_name,
)
from memolith.adapters.embedders.service import BatchLimits, ServiceEmbedder
from memolith.errors import InvalidConfiguration
from memolith.policies.embedding_models import select_model
from memolith.policies.retrying import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memolith.adapters.embedders.service import VectorService
    from memolith.config.settings import Embedding
    from memolith.policies.embedding_models import SelectedModel

LOCAL_MODEL: Final = "all-MiniLM-L6-v2"
"""The model that comes with Memolith, and no name at any service."""

_EMBEDDING_SECTION: Final = "embedding"
_OPENAI_KEY_VARIABLE: Final = "OPENAI_API_KEY"


def build_service_embedder(settings: Embedding, env: Mapping[str, str]) -> ServiceEmbedder:
    """Return an embedder that asks the service that is configured; nothing is asked yet.

    Args:
        own: The settings; the provider is any but `local`.
        env: The environment: its key is in there, under the name that the settings give.

    Raises:
        InvalidConfiguration: No model is named, it has no vectors of that length, the service's
            client is not installed, or its key is not there.
    """
    if settings.model == LOCAL_MODEL:
        problem = f"name a model that {settings.provider} has: {LOCAL_MODEL} is the local one"
        raise InvalidConfiguration(MODEL_SETTING, problem)
    is_here = settings.provider == "sentence-transformers"
    try:
        model = select_model(
            get_stored_model_name(settings.model) if is_here else settings.model, settings.dimension
        )
    except ValueError as error:
        raise InvalidConfiguration("embedding.dimension", str(error)) from None
    limits = BatchLimits(settings.batch_size, settings.batch_chars)
    care = ServiceGuard(retry_policy=RetryPolicy(max_total_s=settings.timeout_ms / 1000))
    return ServiceEmbedder(_build_vector_service(settings, model, env), model, limits, care)


def _build_vector_service(
    settings: Embedding, model: SelectedModel, env: Mapping[str, str]
) -> VectorService:
    timeout_s = settings.timeout_ms / 1000
    if settings.provider == "sentence-transformers":
        return SentenceTransformersVectorService(model, settings.model)
    check_url(settings.base_url, _EMBEDDING_SECTION)
    key = _get_embedding_key(settings, env)
    if settings.provider == "ollama":
        from memolith.adapters.embedders.ollama import OllamaVectorService

        return OllamaVectorService(
            model, api_key=key, base_url=settings.base_url, timeout_s=timeout_s
        )
    from memolith.adapters.embedders.openai import OpenAIVectorService

    return OpenAIVectorService(model, api_key=key, base_url=settings.base_url, timeout_s=timeout_s)


def _get_embedding_key(settings: Embedding, env: Mapping[str, str]) -> str:
    """Return the key: OpenAI's goes to OpenAI alone, unless the settings say otherwise."""
    if settings.api_key_file:
        return read_key_file(settings.api_key_file, _EMBEDDING_SECTION)
    check_variable(settings.api_key_env, _EMBEDDING_SECTION)
    is_openai = settings.provider == "openai" and not settings.base_url
    variable = settings.api_key_env or (_OPENAI_KEY_VARIABLE if is_openai else "")
    return read_key_variable(variable, _EMBEDDING_SECTION, env, is_required=bool(variable))
