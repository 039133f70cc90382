//! Providers of models.

use super::{Rule, named, token};

pub(super) const RULES: &[Rule] = &[
    token("anthropic-key", "an Anthropic key", &["sk-ant-"], r"sk-ant-[\w\-]{24,200}"),
    token("openrouter-key", "an OpenRouter key", &["sk-or-"], r"sk-or-v\d-[a-f0-9]{64}"),
    token(
        "openai-key",
        "an OpenAI key",
        &["sk-"],
        r"sk-(?:(?:proj|svcacct|admin|None)-[\w\-]{32,250}|[A-Za-z0-9]{32,64})",
    ),
    token(
        "huggingface-token",
        "a Hugging Face token",
        &["hf_", "api_org_"],
        r"(?:hf|api_org)_[A-Za-z0-9]{34,40}",
    ),
    token("groq-key", "a Groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,60}"),
    token("replicate-token", "a Replicate token", &["r8_"], r"r8_[A-Za-z0-9]{37,40}"),
    token("perplexity-key", "a Perplexity key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,60}"),
    token("xai-key", "an xAI key", &["xai-"], r"xai-[A-Za-z0-9]{70,90}"),
    token(
        "langsmith-key",
        "a LangSmith key",
        &["lsv2_"],
        r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
    ),
    token("pinecone-key", "a Pinecone key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{50,80}"),
    token("elevenlabs-key", "an ElevenLabs key", &["sk_"], r"sk_[a-f0-9]{48}"),
    token("tavily-key", "a Tavily key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{30,60}"),
    named(
        "model-key",
        "a key of a model's provider",
        &["cohere", "mistral", "together", "deepseek"],
        r"(?:cohere|mistral|together|deepseek)[\w .\-]{0,20}(?:key|token|secret)",
        r"[A-Za-z0-9]{32,64}",
    ),
];
