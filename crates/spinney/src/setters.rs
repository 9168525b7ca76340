//! How parameters are set: one macro makes the setters of all of them, so that every learner is configured in the same way.

/// Makes methods of parameters that take them by value, set the field of the method's name, and give them back.
///
/// Values are converted: a setter of an optional number takes the number itself as well as `None`. Those of a part, as the
/// trees of a forest, are listed as `Whole.part: Part { .. }`.
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
