//! What the list holds, what of it is shown, and what is selected.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use rejoin::{ConversationId, StoredConversation};

use super::branches::BranchEnd;
use crate::session::reach::Reach;

/// What a letter must add to the score of a long text. Scattered letters are in every text, and score less.
const PER_LETTER: u32 = 14;

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PickerRow {
    /// A conversation, by its place in the list of all.
    Conversation(usize),
    /// A branch of it.
    Branch(usize, BranchEnd),
}

/// What the list holds.
#[derive(Debug)]
pub(super) struct PickerState {
    all: Vec<StoredConversation>,
    /// What is searched in: the title, and everything that is at hand.
    texts: Vec<(String, String)>,
    reach: Reach,
    query: String,
    rows: Vec<PickerRow>,
    selected: usize,
    unfolded: Option<(ConversationId, Vec<BranchEnd>)>,
    said: Option<String>,
    /// The first line on the screen; the picture keeps it so that the list does not jump.
    pub(super) top: usize,
    matcher: Matcher,
}

impl PickerState {
    pub(super) fn new(all: Vec<StoredConversation>, reach: Reach) -> Self {
        let mut state = Self {
            all: Vec::new(),
            texts: Vec::new(),
            reach,
            query: String::new(),
            rows: Vec::new(),
            selected: 0,
            unfolded: None,
            said: None,
            top: 0,
            matcher: Matcher::new(Config::DEFAULT),
        };
        state.replace(all, reach);
        state
    }

    /// Offers other conversations; what is typed stays, and so does the selection where it can.
    pub(super) fn replace(&mut self, all: Vec<StoredConversation>, reach: Reach) {
        let selected = self.selected_conversation().map(|stored| stored.id);
        self.texts = all.iter().map(searched).collect();
        self.all = all;
        self.reach = reach;
        self.refresh();
        let all = &self.all;
        let same = |row: &PickerRow| matches!(row, PickerRow::Conversation(place) if Some(all[*place].id) == selected);
        self.selected = self.rows.iter().position(same).unwrap_or(0);
    }

    pub(super) const fn reach(&self) -> Reach {
        self.reach
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn rows(&self) -> &[PickerRow] {
        &self.rows
    }

    pub(super) const fn place(&self) -> usize {
        self.selected
    }

    /// How many conversations match, and how many there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        let matching = self.rows.iter().filter(|row| matches!(row, PickerRow::Conversation(_))).count();
        (matching, self.all.len())
    }

    pub(super) fn selected(&self) -> Option<&PickerRow> {
        self.rows.get(self.selected)
    }

    pub(super) fn conversation_of(&self, row: &PickerRow) -> &StoredConversation {
        match row {
            PickerRow::Conversation(place) | PickerRow::Branch(place, _) => &self.all[*place],
        }
    }

    pub(super) fn selected_conversation(&self) -> Option<&StoredConversation> {
        self.selected().map(|row| self.conversation_of(row))
    }

    /// Something to tell until the next key.
    pub(super) fn say(&mut self, what: &str) {
        self.said = Some(what.to_owned());
    }

    pub(super) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    pub(super) fn hush(&mut self) {
        self.said = None;
    }

    pub(super) fn type_letter(&mut self, letter: char) {
        self.query.push(letter);
        self.narrow();
    }

    pub(super) fn erase(&mut self) {
        self.query.pop();
        self.narrow();
    }

    pub(super) fn erase_all(&mut self) {
        self.query.clear();
        self.narrow();
    }

    /// Moves the selection down, or up when negative.
    pub(super) fn go(&mut self, lines: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    /// Shows the branches below the selected conversation.
    pub(super) fn unfold(&mut self, branches: Vec<BranchEnd>) {
        let Some(id) = self.selected_conversation().map(|stored| stored.id) else { return };
        self.unfolded = Some((id, branches));
        self.refresh_and_select(id);
    }

    /// Hides the branches again.
    pub(super) fn fold(&mut self) {
        let Some(id) = self.selected_conversation().map(|stored| stored.id) else { return };
        self.unfolded = None;
        self.refresh_and_select(id);
    }

    fn refresh_and_select(&mut self, id: ConversationId) {
        self.refresh();
        let all = &self.all;
        let is_it = |row: &PickerRow| matches!(row, PickerRow::Conversation(place) if all[*place].id == id);
        self.selected = self.rows.iter().position(is_it).unwrap_or(0);
    }

    fn narrow(&mut self) {
        self.selected = 0;
        self.top = 0;
        self.refresh();
    }

    /// Computes the lines: the best match first, the most recent first among equals.
    fn refresh(&mut self) {
        let pattern = Pattern::parse(&self.query, CaseMatching::Ignore, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut score =
            |text: &str, matcher: &mut Matcher| pattern.score(Utf32Str::new(text, &mut buffer), matcher);
        let mut found: Vec<(u32, usize)> = Vec::with_capacity(self.texts.len());
        let letters = self.query.chars().filter(|letter| !letter.is_whitespace()).count();
        let enough = u32::try_from(letters).unwrap_or(u32::MAX).saturating_mul(PER_LETTER);
        for (place, (title, text)) in self.texts.iter().enumerate() {
            let whole = score(text, &mut self.matcher);
            match (score(title, &mut self.matcher), whole.filter(|score| *score >= enough)) {
                // What is in the title was more likely meant.
                (Some(titled), _) => found.push((titled.saturating_mul(2), place)),
                (None, Some(whole)) => found.push((whole, place)),
                (None, None) => {}
            }
        }
        if !self.query.trim().is_empty() {
            found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        self.rows.clear();
        for (_, place) in found {
            self.rows.push(PickerRow::Conversation(place));
            if let Some((id, branches)) = &self.unfolded
                && *id == self.all[place].id
            {
                self.rows.extend(branches.iter().map(|branch| PickerRow::Branch(place, branch.clone())));
            }
        }
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }
}

fn searched(stored: &StoredConversation) -> (String, String) {
    let title = stored.title().to_owned();
    let synopsis = stored.conversation.synopsis.as_ref();
    let summary = synopsis.map(|synopsis| synopsis.text.as_str()).unwrap_or_default();
    let text = format!("{title} {summary} {} {}", stored.first, stored.last);
    (title, text)
}

#[cfg(test)]
mod tests {
    use rejoin::{Archive, Conversation, List, Message, MessageId};

    use super::*;

    fn conversations(said: &[(&str, &str)]) -> Vec<StoredConversation> {
        let archive = Archive::open("memory:").unwrap();
        for (title, text) in said {
            archive.start(Conversation::titled(*title)).unwrap().append(Message::user(*text)).unwrap();
        }
        archive.list(&List { limit: 100, ..List::default() }).unwrap().items
    }

    fn titles(state: &PickerState) -> Vec<&str> {
        state.rows().iter().map(|row| state.conversation_of(row).title()).collect()
    }

    fn typed(state: &mut PickerState, text: &str) {
        text.chars().for_each(|letter| state.type_letter(letter));
    }

    #[test]
    fn letters_narrow_the_list_and_a_title_beats_a_mention() {
        let mut state = PickerState::new(
            conversations(&[("Porto", "near lisbon"), ("Lisbon", "a trip"), ("Taxes", "2026")]),
            Reach::Project,
        );
        let before = titles(&state).join(" ");

        typed(&mut state, "lsbn");

        assert_eq!((before.as_str(), titles(&state)), ("Taxes Lisbon Porto", vec!["Lisbon", "Porto"]));
        assert_eq!(state.counts(), (2, 3));
    }

    #[test]
    fn letters_scattered_over_a_long_text_are_no_match() {
        let mut state = PickerState::new(
            conversations(&[("Porto", ""), ("Lisbon", "Tell me of the trip to Lisbon.")]),
            Reach::Project,
        );

        typed(&mut state, "prt");

        assert_eq!(titles(&state), ["Porto"]);
    }

    #[test]
    fn erasing_brings_everything_back() {
        let mut state = PickerState::new(conversations(&[("Porto", ""), ("Lisbon", "")]), Reach::Project);

        typed(&mut state, "zzz");
        let none = state.counts();
        state.erase_all();

        assert_eq!((none, state.counts()), ((0, 2), (2, 2)));
    }

    #[test]
    fn the_selection_stays_inside() {
        let mut state = PickerState::new(conversations(&[("Porto", ""), ("Lisbon", "")]), Reach::Project);

        state.go(10);
        let down = state.place();
        state.go(-10);

        assert_eq!((down, state.place()), (1, 0));
    }

    #[test]
    fn branches_stand_below_their_conversation() {
        let mut state = PickerState::new(conversations(&[("Porto", ""), ("Lisbon", "")]), Reach::Project);
        let head: MessageId = "abcdef".parse().unwrap();
        let branch = BranchEnd { head, title: "On a budget".to_owned() };

        state.unfold(vec![branch.clone()]);
        let unfolded = state.rows().to_vec();
        state.fold();

        let (first, second) = (PickerRow::Conversation(0), PickerRow::Conversation(1));
        assert_eq!(unfolded, [first.clone(), PickerRow::Branch(0, branch), second.clone()]);
        assert_eq!(state.rows(), [first, second]);
    }

    #[test]
    fn the_selection_survives_another_reach() {
        let all = conversations(&[("Porto", ""), ("Lisbon", ""), ("Taxes", "")]);
        let mut state = PickerState::new(all[1..].to_vec(), Reach::Project);
        state.go(1);

        state.replace(all, Reach::Everything);

        assert_eq!(state.selected_conversation().map(StoredConversation::title), Some("Porto"));
    }
}
