//! The conformance suite: every rule of the store contract as one check, for those who write a store.
//!
//! A store is tested with one line, given a [`Place`] where it can be opened again and again:
//!
//! ```
//! use std::sync::Arc;
//!
//! use rejoin::store::{MemoryStore, Store};
//!
//! struct Memory(MemoryStore);
//!
//! impl rejoin::testing::Place for Memory {
//!     fn open(&self) -> Arc<dyn Store> {
//!         Arc::new(self.0.clone())
//!     }
//! }
//!
//! rejoin::conformance!(memory, Memory(MemoryStore::new()));
//! ```
//!
//! A rule's documentation is the sentence of the contract that it checks. What a rule looks at
//! in the end it looks at three times: through the store that wrote it, through a second one
//! beside it, and after both were closed.

mod amend;
mod append;
mod append_all;
mod append_tree;
mod blobs;
mod changes;
mod draft;
mod find;
mod list;
pub(crate) mod look;
mod maintain;
mod read;
mod remove;
mod rewrite;
mod search;
mod trial;

use std::sync::Arc;

use trial::Trial;

use crate::error::Result;
use crate::store::Store;

/// Where a store is kept, so that it can be opened more than once.
pub trait Place {
    /// Opens the store that is kept here; every call opens the same one.
    ///
    /// A place that was just made holds nothing.
    fn open(&self) -> Arc<dyn Store>;
}

/// Checks one rule of the contract and panics when the store at a fresh place breaks it.
///
/// [`conformance!`](crate::conformance) makes a test of each of the [`rules`].
#[track_caller]
pub fn check(name: &str, place: &dyn Place) {
    let rule = RULES.iter().find(|(rule, _)| *rule == name);
    let (_, check) = rule.unwrap_or_else(|| panic!("there is no rule `{name}`"));
    if let Err(error) = check(&mut Trial::new(place)) {
        panic!("{name}: the store failed: {error:?}");
    }
}

/// Names every rule, in the order of the contract.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// A rule: its name, which is also its test's, and its check.
type ConformanceRule = (&'static str, fn(&mut Trial<'_>) -> Result<()>);

/// Names every rule once, for the table and for the macro that makes a test of each.
macro_rules! rules {
    ($dollar:tt $($file:ident { $($rule:ident,)+ })+) => {
        const RULES: &[ConformanceRule] = &[$($((stringify!($rule), $file::$rule),)+)+];

        /// Makes a module with one test per rule of the store contract.
        ///
        /// The second argument makes a fresh [`Place`](crate::testing::Place); it is evaluated once per test.
        #[macro_export]
        macro_rules! conformance {
            ($dollar name:ident, $dollar place:expr) => {
                mod $dollar name {
                    #[expect(clippy::wildcard_imports, reason = "the place may be named in any way")]
                    use super::*;

                    $($(
                        #[test]
                        fn $rule() {
                            $dollar crate::testing::check(stringify!($rule), &$dollar place);
                        }
                    )+)+
                }
            };
        }
    };
}

rules! { $
    read {
        capabilities_are_constant,
        a_path_runs_from_the_root_to_its_target,
        a_path_never_includes_the_targets_children,
        a_path_without_a_target_ends_at_the_head,
        a_path_without_a_head_is_empty,
        all_messages_come_in_order_of_arrival,
        all_messages_come_newest_first_when_asked,
        an_offset_passes_over_and_a_limit_ends,
        messages_come_in_the_order_asked,
        a_message_asked_for_twice_comes_twice,
        a_missing_id_is_not_found_and_nothing_is_visited,
        reading_an_unknown_conversation_is_not_found,
        bodies_come_back_byte_for_byte,
        one_read_sees_one_moment,
        an_error_of_the_visitor_ends_the_read,
    }
    list {
        a_row_tells_everything_that_is_known,
        the_newest_activity_comes_first,
        of_equal_activity_the_greater_id_comes_first,
        a_cursor_continues_after_the_last_row,
        a_cursor_never_skips_or_repeats_a_row,
        a_list_can_be_filtered_by_project,
        a_list_can_be_filtered_by_status,
        an_active_conversation_that_is_idle_counts_as_paused,
        a_list_can_be_filtered_by_kind,
        a_list_can_leave_out_a_kind_and_says_how_many,
        a_list_can_be_filtered_by_id,
        all_filters_must_hold,
        expired_conversations_are_left_out,
        a_total_counts_all_rows_that_match,
    }
    find {
        a_conversation_is_found_by_the_beginning_of_its_id,
        a_conversation_is_found_by_the_beginning_of_its_short_id,
        a_conversation_is_found_by_its_whole_slug,
        a_message_is_found_by_the_beginning_of_its_id,
        at_most_limit_are_found,
        conversations_are_found_before_messages,
    }
    search {
        every_word_must_be_in_the_message,
        the_last_word_may_be_a_beginning,
        case_and_accents_do_not_matter,
        the_newest_message_comes_first,
        of_one_time_the_greater_key_comes_first,
        everything_appended_before_the_call_is_found,
        removed_messages_are_not_found,
        a_search_cursor_continues_where_a_page_ended,
        a_search_can_be_limited_to_a_conversation,
        a_search_can_be_limited_to_a_project,
        a_search_can_be_limited_to_a_role,
        a_search_can_be_limited_to_a_time_and_later,
        another_order_finds_the_same_messages,
    }
    changes {
        changes_are_reported_oldest_first,
        every_change_is_reported,
        an_answer_of_few_changes_has_all,
        a_removal_is_reported_with_its_reason,
        a_rewrite_is_reported_as_one,
        a_change_is_reported_with_its_time,
        without_a_change_the_answer_is_empty_after_the_wait,
        a_change_ends_the_wait,
        a_stamp_from_before_reopening_stays_good,
    }
    blobs {
        blobs_come_in_order_of_name,
        only_names_with_the_prefix_are_visited,
        a_blob_asked_for_by_its_name_comes_alone,
        blobs_of_another_space_are_not_visited,
        blobs_of_another_owner_are_not_visited,
    }
    append {
        what_was_appended_is_there_when_opened_again,
        a_turn_is_stored_whole_or_not_at_all,
        a_turn_that_opens_a_conversation_creates_it,
        a_conversation_may_be_opened_without_messages,
        opening_a_conversation_that_exists_is_a_conflict,
        a_turn_that_does_nothing_is_invalid,
        appending_to_an_unknown_conversation_is_not_found,
    }
    append_tree {
        a_parent_may_be_any_message,
        a_parent_may_be_an_earlier_entry,
        any_other_parent_is_not_found,
        a_parent_with_another_link_is_a_conflict,
    }
    append {
        the_head_becomes_the_last_entry,
    }
    append_tree {
        the_branch_that_a_turn_names_moves_along,
        a_branch_that_is_gone_stays_gone,
        a_parent_with_a_child_is_a_fork,
        a_second_root_is_a_fork,
        a_stale_turn_can_be_refused,
    }
    append {
        an_id_that_is_taken_is_a_conflict,
        an_id_twice_in_one_turn_is_a_conflict,
        another_conversation_may_have_the_same_ids,
        the_same_turn_again_is_replayed,
        a_replay_changes_nothing,
        sequences_start_at_one_and_have_no_gaps,
        messages_of_one_turn_share_its_first_sequence,
        counts_and_bytes_follow,
        the_previews_follow,
        last_activity_follows_and_never_goes_back,
        last_activity_far_ahead_of_a_turn_is_replaced,
        blobs_of_a_turn_are_stored_with_it_or_not_at_all,
    }
    append_all {
        there_is_one_answer_per_turn,
        a_turn_may_go_on_from_one_before_it,
        a_turn_that_is_refused_ends_it,
    }
    amend {
        a_change_answers_the_next_version,
        another_version_is_a_conflict_and_nothing_changes,
        without_an_expected_version_any_will_do,
        an_append_does_not_change_the_version,
        a_header_is_replaced_together_with_its_facets,
        a_head_can_be_moved,
        a_head_that_names_no_message_is_not_found,
        a_branch_is_added_or_replaced,
        a_branch_whose_head_is_no_message_is_not_found,
        a_branch_can_be_taken_away,
        a_note_replaces_label_and_pin_only,
        a_note_on_an_unknown_message_is_not_found,
    }
    rewrite {
        a_rewrite_replaces_bodies_and_links_only,
        messages_are_rewritten_all_or_none,
        rewriting_an_unknown_message_is_not_found,
        a_message_twice_in_one_rewrite_is_a_conflict,
        a_parent_that_is_rewritten_without_its_child_is_a_conflict,
        both_previews_are_replaced_by_those_of_a_rewrite,
        the_link_of_the_head_follows_a_rewrite,
        the_bytes_follow_a_rewrite,
        what_was_written_against_a_link_that_is_gone_is_a_conflict,
        a_search_finds_what_messages_say_since_they_were_rewritten,
    }
    amend {
        changing_an_unknown_conversation_is_not_found,
    }
    remove {
        there_is_one_outcome_per_target_in_order,
        a_removed_conversation_takes_everything_along,
        a_missing_conversation_is_an_outcome,
        messages_of_one_target_go_together_or_not_at_all,
        a_missing_message_is_a_success,
        a_message_with_children_that_stay_is_refused,
        a_message_goes_when_its_children_are_also_named,
        a_whole_subtree_goes_when_asked_for,
        a_head_that_goes_falls_back,
        a_branch_that_goes_falls_back,
        a_branch_without_an_ancestor_goes_too,
        sequences_of_removed_messages_are_not_used_again,
        removing_messages_raises_the_version_by_one_more_than_went,
        counts_and_bytes_are_of_what_is_left,
        what_is_removed_is_gone_from_lists_and_previews,
        what_is_removed_is_gone_from_lookups,
    }
    blobs {
        blobs_are_stored_all_or_none,
        a_blob_of_the_same_name_is_replaced,
        a_blob_without_bytes_is_erased,
        an_erased_blob_stays_erased,
        erasing_what_is_not_there_succeeds,
        a_blob_of_an_unknown_conversation_is_not_found,
        a_blob_survives_as_its_safety_says,
    }
    maintain {
        maintenance_changes_nothing_a_reader_can_see,
        maintenance_ends_whatever_the_budget,
        a_sound_store_has_no_faults,
    }
}
