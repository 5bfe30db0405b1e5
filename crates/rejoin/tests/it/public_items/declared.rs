//! What a public item promises, read from its source: its declaration, its fields and variants, its public
//! methods with their types, and the traits that are implemented for it.
//!
//! Bodies, values of constants, names of private fields and what macros generate are not here.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

/// A source file, parsed.
pub(crate) struct Parsed {
    code: String,
    items: Vec<Item>,
}

impl Parsed {
    pub(crate) fn new(code: &str) -> Self {
        let file = syn::parse_file(code).unwrap_or_else(|error| panic!("{error}:\n{code}"));
        Self { code: code.to_owned(), items: file.items }
    }

    /// Whether it declares something of this name, public or not.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.items.iter().any(|item| is_named(item, name))
    }

    /// The declaration of an item: one line for it, and one for each field, variant or method of a trait.
    pub(crate) fn declaration(&self, name: &str) -> Vec<String> {
        self.items.iter().filter(|item| is_named(item, name)).flat_map(|item| self.declared(item)).collect()
    }

    /// The public methods and constants in the blocks of a type, and the traits implemented for it.
    pub(crate) fn members(&self, name: &str) -> BTreeSet<String> {
        let blocks = self.items.iter().filter_map(|item| match item {
            Item::Impl(block) if is_for(block, name) => Some(block),
            _ => None,
        });
        blocks.flat_map(|block| self.of_block(block)).collect()
    }

    fn of_block(&self, block: &ItemImpl) -> Vec<String> {
        let when = self.conditions(&block.attrs);
        let start = block.impl_token.span().byte_range().start;
        let header = self.between(start, block.self_ty.span().byte_range().end);
        let bounds = block.generics.where_clause.as_ref().map(|bounds| self.text(bounds));
        let header = [Some(header), bounds].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if block.trait_.is_some() {
            let types = block.items.iter().filter_map(|item| match item {
                ImplItem::Type(item) => Some(format!("{when}{header}: {}", self.text(item))),
                _ => None,
            });
            return std::iter::once(format!("{when}{header}")).chain(types).collect();
        }
        // Methods of a block with bounds of its own are there under these only.
        let bounded = if block.generics.params.is_empty() { String::new() } else { format!("{header}: ") };
        let public = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(item) if is_public(&item.vis) => Some((&item.attrs, self.text(&item.sig))),
            ImplItem::Const(item) if is_public(&item.vis) => {
                Some((&item.attrs, format!("const {}: {}", item.ident, self.text(&item.ty))))
            }
            _ => None,
        });
        public
            .map(|(attributes, text)| format!("{when}{}{bounded}{text}", self.conditions(attributes)))
            .collect()
    }

    fn declared(&self, item: &Item) -> Vec<String> {
        match item {
            Item::Struct(item) => {
                let head = format!("struct {}{}", item.ident, self.text(&item.generics));
                let mut lines = vec![self.with_attributes(&item.attrs, head)];
                lines.extend(self.fields(&item.fields));
                lines
            }
            Item::Enum(item) => {
                let head = format!("enum {}{}", item.ident, self.text(&item.generics));
                let mut lines = vec![self.with_attributes(&item.attrs, head)];
                for variant in &item.variants {
                    let text = format!("{}{}", variant.ident, self.of_variant(&variant.fields));
                    lines.push(format!("  {}", self.with_attributes(&variant.attrs, text)));
                }
                lines
            }
            Item::Trait(item) => {
                let start = item.trait_token.span().byte_range().start;
                let end = item.brace_token.span.open().byte_range().start;
                let mut lines = vec![self.with_attributes(&item.attrs, self.between(start, end))];
                lines.extend(item.items.iter().map(|item| format!("  {}", self.of_trait(item))));
                lines
            }
            Item::Fn(item) => vec![self.with_attributes(&item.attrs, self.text(&item.sig))],
            Item::Type(item) => {
                let start = item.type_token.span().byte_range().start;
                vec![self.with_attributes(&item.attrs, self.between(start, item.ty.span().byte_range().end))]
            }
            Item::Const(item) => {
                let text = format!("const {}: {}", item.ident, self.text(&item.ty));
                vec![self.with_attributes(&item.attrs, text)]
            }
            Item::Static(item) => {
                let text = format!("static {}: {}", item.ident, self.text(&item.ty));
                vec![self.with_attributes(&item.attrs, text)]
            }
            other => panic!("what is promised by `{}` is not known", self.text(other)),
        }
    }

    fn of_trait(&self, item: &TraitItem) -> String {
        match item {
            TraitItem::Fn(item) => {
                let body = if item.default.is_some() { " { … }" } else { "" };
                format!("{}{}{body}", self.conditions(&item.attrs), self.text(&item.sig))
            }
            other => self.text(other),
        }
    }

    fn of_variant(&self, fields: &Fields) -> String {
        let types = fields.iter().map(|field| match &field.ident {
            Some(name) => format!("{name}: {}", self.text(&field.ty)),
            None => self.text(&field.ty),
        });
        let types = types.collect::<Vec<_>>().join(", ");
        match fields {
            Fields::Named(_) => format!(" {{ {types} }}"),
            Fields::Unnamed(_) => format!("({types})"),
            Fields::Unit => String::new(),
        }
    }

    /// The public fields. That there are others is told too: such a type cannot be built from outside.
    fn fields(&self, fields: &Fields) -> Vec<String> {
        let public = fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis));
        let mut lines: Vec<String> = public
            .map(|(place, field)| {
                let name = field.ident.as_ref().map_or_else(|| place.to_string(), ToString::to_string);
                format!("  {}{name}: {}", self.conditions(&field.attrs), self.text(&field.ty))
            })
            .collect();
        if fields.iter().any(|field| !is_public(&field.vis)) {
            lines.push("  .. (private)".to_owned());
        }
        lines
    }

    /// A declaration with what its attributes promise: derived traits and `non_exhaustive`.
    fn with_attributes(&self, attributes: &[Attribute], declaration: String) -> String {
        let told = ["derive", "non_exhaustive", "must_use", "deprecated", "track_caller"];
        let told = attributes.iter().filter(|one| told.iter().any(|name| one.path().is_ident(name)));
        let told: String = told.map(|one| self.text(one) + " ").collect();
        format!("{told}{}{declaration}", self.conditions(attributes))
    }

    /// The features that an item needs.
    fn conditions(&self, attributes: &[Attribute]) -> String {
        attributes.iter().filter(|one| one.path().is_ident("cfg")).map(|one| self.text(one) + " ").collect()
    }

    fn text(&self, part: &impl Spanned) -> String {
        let place = part.span().byte_range();
        self.between(place.start, place.end)
    }

    /// A part of the source on one line.
    fn between(&self, start: usize, end: usize) -> String {
        let words: Vec<&str> = self.code[start..end].split_whitespace().collect();
        let line = words.join(" ").replace("( ", "(").replace(" )", ")").replace(",)", ")");
        line.replace("< ", "<")
            .replace(",>", ">")
            .replace("(mut self", "(self")
            .trim_end_matches(',')
            .to_owned()
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_named(item: &Item, name: &str) -> bool {
    let ident = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        _ => return false,
    };
    ident == name
}

/// Whether a block is for the type of this name.
fn is_for(block: &ItemImpl, name: &str) -> bool {
    match &*block.self_ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}
