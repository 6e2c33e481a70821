"""The way back: this benchmark's own files by what people say."""
