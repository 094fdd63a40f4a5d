//! The designs that come with the program, and those with one rule taken out, which the judge has to find.

#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub name: &'static str,
    pub file: &'static str,
    pub text: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// The design that it was made of.
    pub design: &'static str,
    pub rule: &'static str,
    pub file: &'static str,
    pub text: &'static str,
}

macro_rules! kept {
    ($name:literal) => {
        Kept {
            name: $name,
            file: concat!("designs/", $name, ".toml"),
            text: include_str!(concat!("../../designs/", $name, ".toml")),
        }
    };
}

macro_rules! broken {
    ($design:literal, $rule:literal) => {
        Broken {
            design: $design,
            rule: $rule,
            file: concat!("designs/broken/", $design, "-", $rule, ".toml"),
            text: include_str!(concat!("../../designs/broken/", $design, "-", $rule, ".toml")),
        }
    };
}

pub const DESIGNS: &[Kept] = &[
    kept!("chain"),
    kept!("haystack"),
    kept!("voldemort"),
    kept!("swift"),
    kept!("craq"),
    kept!("cops"),
    kept!("cassandra"),
    kept!("iolite-directory"),
    kept!("iolite-volumes"),
    kept!("fawn"),
    kept!("gfs"),
    kept!("memcached"),
];

pub const BROKEN: &[Broken] = &[
    broken!("chain", "reply-at-head"),
    broken!("haystack", "index-before-needle"),
    broken!("voldemort", "w1-r1-as-strong"),
    broken!("craq", "serve-dirty"),
    broken!("cops", "skip-dep-check"),
    broken!("cassandra", "publish-before-written"),
];
