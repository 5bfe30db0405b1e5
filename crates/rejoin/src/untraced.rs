//! What stands for the macros of `tracing` in a build without it: an event that goes nowhere.

/// Looks at what an event would tell, and tells nobody.
macro_rules! event {
    () => {};
    ($text:literal $($arguments:tt)*) => {{
        let _ = format_args!($text $($arguments)*);
    }};
    (%$value:ident $(, $($rest:tt)*)?) => {{
        let _ = &$value;
        $crate::untraced::event!($($($rest)*)?);
    }};
    (?$value:ident $(, $($rest:tt)*)?) => {{
        let _ = &$value;
        $crate::untraced::event!($($($rest)*)?);
    }};
    ($name:ident = %$value:expr, $($rest:tt)*) => {{
        let _ = &$value;
        $crate::untraced::event!($($rest)*);
    }};
    ($name:ident = ?$value:expr, $($rest:tt)*) => {{
        let _ = &$value;
        $crate::untraced::event!($($rest)*);
    }};
    ($name:ident = $value:expr, $($rest:tt)*) => {{
        let _ = &$value;
        $crate::untraced::event!($($rest)*);
    }};
    ($value:ident, $($rest:tt)*) => {{
        let _ = &$value;
        $crate::untraced::event!($($rest)*);
    }};
}

pub(crate) use event;
