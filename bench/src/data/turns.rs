//! Turns of four messages in Rejoin's message JSON: question, tool call, tool result, answer.
//!
//! The sizes give a mean of 2.2 KB a message, with one tool result in twenty of
//! 50 KB, as long agent sessions have.

use serde_json::{Value, json};

use super::random::Random;
use super::vocabulary::Vocabulary;
use super::{COMMON_WORD, MESSAGES_PER_TURN};

const QUESTION: usize = 300;
const REMARK: usize = 60;
const RESULT: usize = 3_950;
const LARGE_RESULT: usize = 50_000;
const ANSWER: usize = 1_500;

/// The question and the answer may hold the common word, so 0.2 in two of four
/// messages is one message in ten.
const COMMON_PROBABILITY: f64 = 0.2;

/// An endless, repeatable sequence of turns.
pub(crate) struct Turns {
    random: Random,
    vocabulary: Vocabulary,
    written: u64,
}

impl Turns {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), vocabulary: Vocabulary::new(11), written: 0 }
    }

    /// Returns the messages of one turn, each as a line of JSON; the answer contains `word` if there is one.
    pub(crate) fn next_turn(&mut self, word: Option<&str>) -> [String; MESSAGES_PER_TURN] {
        let call_id = format!("call_{:016x}", self.random.next());
        let question = self.text(QUESTION);
        let question = self.with_common_word(question);
        let remark = self.text(REMARK);
        let path = format!("src/{}.rs", self.random.below(4_000));
        let result = self.result();
        let answer = self.text(ANSWER);
        let mut answer = self.with_common_word(answer);
        if let Some(word) = word {
            answer.push(' ');
            answer.push_str(word);
        }
        [
            self.message("user", &json!([{"type": "text", "text": question}])),
            self.message(
                "assistant",
                &json!([
                    {"type": "text", "text": remark},
                    {"type": "tool_call", "id": call_id, "name": "read_file", "input": {"path": path, "limit": 200}}
                ]),
            ),
            self.message("tool", &json!([{"type": "tool_result", "call_id": call_id, "output": result}])),
            self.message("assistant", &json!([{"type": "text", "text": answer}])),
        ]
    }

    fn text(&mut self, mean: usize) -> String {
        let length = self.random.around(mean);
        self.vocabulary.cut(&mut self.random, length).to_owned()
    }

    fn result(&mut self) -> String {
        if self.random.happens(0.05) {
            return self.vocabulary.cut(&mut self.random, LARGE_RESULT).to_owned();
        }
        self.text(RESULT)
    }

    fn with_common_word(&mut self, mut text: String) -> String {
        if self.random.happens(COMMON_PROBABILITY) {
            text.push(' ');
            text.push_str(COMMON_WORD);
        }
        text
    }

    fn message(&mut self, role: &str, blocks: &Value) -> String {
        let created_at = self.next_time();
        json!({"role": role, "created_at": created_at, "blocks": blocks}).to_string()
    }

    /// One message a second from the first of November: a million of them end on the twelfth.
    fn next_time(&mut self) -> String {
        let second = self.written;
        self.written += 1;
        let day = 1 + second / 86_400;
        let (hour, minute) = (second / 3_600 % 24, second / 60 % 60);
        format!(
            "2026-11-{day:02}T{hour:02}:{minute:02}:{:02}.{:06}Z",
            second % 60,
            second * 7_919 % 1_000_000
        )
    }
}
