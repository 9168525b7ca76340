//! The setters of parameters. One macro generates the setters of all configurations, so that all learners are
//! configured in the same way.

/// Generates methods that take a configuration by value, set the field with the name of the method, and return the
/// configuration.
///
/// Values are converted: the setter of an optional number takes the number itself as well as `None`. The setters of the
/// fields of a part, such as the trees of a forest, are listed as `Whole.part: Part { .. }`.
macro_rules! setters {
    ($whole:ident $(<$life:lifetime>)? { $($field:ident: $value:ty,)+ }) => {
        impl $(<$life>)? $whole $(<$life>)? {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](field@crate::", stringify!($whole), "::", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $value) -> Self {
                    self.$field = $field.into();
                    self
                }
            )+
        }
    };
    ($whole:ident.$part:ident: $of:ident { $($field:ident: $value:ty,)+ }) => {
        impl $whole {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](field@crate::", stringify!($of), "::", stringify!($field), ") of each tree.")]
                #[must_use]
                pub fn $field(mut self, $field: $value) -> Self {
                    self.$part.$field = $field.into();
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;
