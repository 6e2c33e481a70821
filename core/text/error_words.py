"""What error types mean, in one plain line. The types are those that benchmarks write in their score files; a type that
is not known here has no words."""

from __future__ import annotations

_WORDS = {
    # BFCL: its checkers' error types
    "value_error:string": "a text is none of the accepted ones",
    "value_error:others": "a value is none of the accepted ones",
    "value_error:list/tuple": "a list is none of the accepted ones",
    "value_error:dict_key": "an object has a field too many, too few, or of another name",
    "value_error:dict_value": "a field of an object has a value that is not accepted",
    "value_error:dict_items": "an object has other fields than the golden one",
    "value_error:list_dict_count": "a list of objects is longer or shorter than the golden one",
    "value_error": "the right argument with a value that is not accepted",
    "type_error:nested": "an element of a list has the wrong type",
    "type_error": "a value has the wrong type",
    "ast_decoder:decoder_failed": "the answer could not be read as calls",
    "ast_decoder": "the answer is not in the form that calls are read from",
    "relevance_error:decoder_success": "no function fits the question, and one was called all the same",  # V1 and V2
    "relevance_error": "a call was expected, and none was made",
    "irrelevance_error": "no function fits the question, and one was called all the same",
    "wrong_func_name": "another function was called than the golden one",
    "missing_required": "a required argument was left out",
    "missing_optional": "an argument that the golden call has was left out",
    "unexpected_param": "an argument was given that the function does not have",
    "cannot_find_match": "a golden call has no call that matches it",
    "wrong_count": "more or fewer calls than golden ones",
    "multi_turn:instance_state_mismatch": "the calls ended in another state than the golden ones",
    "multi_turn:execution_response_mismatch": "the calls did not bring up what the golden ones did",
    "multi_turn:empty_turn_model_response": "a turn that needs calls has none",
    "multi_turn:force_terminated": "the model went on until it was stopped",
    "multi_turn:inference_error": "the model's answer could not be had",
    "agentic:answer_not_found": "the final answer holds none of the accepted ones",
    "executable_checker": "what the call gave differs from the golden result",
    # ACEBench
    "wrong_output_format": "the answer could not be read as calls",
    "wrong functions number": "more or fewer calls than golden ones",
    "wrong function name": "another function was called than the golden one",
    "function name error": "another function was called than the golden one",
    "lack_args": "a required argument was left out",
    "addition_args": "an argument was given that the golden call does not have",
    "class attributes wrong": "the calls ended in another state than expected",
    "wrong number of class": "other objects were changed than expected",
    "error_detection": "the model did not say what is missing or wrong in the question",
    "error_correction": "the model did not name the argument that is wrong",
    # ComplexFuncBench
    "func_error": "another function was called than the golden one",
    "param_missing": "an argument that the golden call has was left out",
    "hallucination": "an argument was given that nothing asked for",
    "stop_early": "the model stopped before all golden calls were made",
    # HammerBench: our words for what its scripts count
    "not_declined": "no function fits, and the model did not decline",
    "refused": "the model declined where a call was expected",
    "text": "the model answered in words where a call was expected",
    "wrong_first_function": "the first function called is another than the golden one",
    "hallucinated_parameter": "an argument was given that the golden call does not have",
    "missing_parameter": "an argument that the golden call has was left out",
    # CONFETTI: dialog acts
    "no_overlap": "none of the labels of the reply is a golden one",
    # the generic format: our words
    "missing_call": "a golden call was not made",
    "extra_call": "a call was made that the golden answer does not have",
    "wrong_function": "another function was called than the golden one",
    "missing_argument": "an argument that the golden call has was left out",
    "extra_argument": "an argument was given that the golden call does not have",
    "wrong_value": "the right argument with a value that is not accepted",
}


def error_words(error_type: str) -> str:
    """`value_error:string` -> `a text is none of the accepted ones`: by the whole type, its end, then its beginning."""
    names = (error_type, error_type.rpartition(":")[2], error_type.partition(":")[0])
    return next((_WORDS[name] for name in names if name in _WORDS), "")
