//! Keeps AI conversations.
