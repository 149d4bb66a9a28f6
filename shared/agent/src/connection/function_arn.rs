//! The ARN of a Lambda function whose tools a connection has.

use std::{fmt, str::FromStr};

/// The ARN of a function, of one of its versions or of an alias. It has no wildcard and isn't `$LATEST`, so that it is the
/// resource of a permission as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionArn {
    text: String,
    parts: FunctionParts,
}

/// The parts of a function's ARN that a request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionParts {
    /// The partition, such as `aws`.
    pub partition: String,
    /// The region.
    pub region: String,
    /// The function's name.
    pub name: String,
    /// The version or the alias.
    pub qualifier: Option<String>,
}

/// A text that isn't the ARN of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the ARN of a Lambda function, of a version or of an alias, such as \
     arn:aws:lambda:eu-west-1:123456789012:function:refund:live"
)]
pub struct InvalidFunctionArn;

/// The partitions of AWS, with the domain of their services.
const PARTITIONS: [(&str, &str); 3] =
    [("aws", "amazonaws.com"), ("aws-us-gov", "amazonaws.com"), ("aws-cn", "amazonaws.com.cn")];

impl FunctionArn {
    /// The pattern of the text, for schemas.
    pub(crate) const PATTERN: &'static str = "^arn:aws(-cn|-us-gov)?:lambda:[a-z0-9-]{1,32}:[0-9]{12}:function:\
                                              [A-Za-z0-9_-]{1,64}(:[A-Za-z0-9_-]{1,128})?$";

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the parts.
    #[must_use]
    pub fn parts(&self) -> &FunctionParts {
        &self.parts
    }
}

impl FunctionParts {
    /// Returns the host of Lambda's API in the function's region.
    #[must_use]
    pub fn api_host(&self) -> String {
        let known = PARTITIONS.iter().find(|(partition, _)| *partition == self.partition);
        let domain = known.map_or("amazonaws.com", |(_, domain)| domain);
        format!("lambda.{}.{domain}", self.region)
    }
}

impl fmt::Display for FunctionArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for FunctionArn {
    type Err = InvalidFunctionArn;

    fn from_str(text: &str) -> Result<Self, InvalidFunctionArn> {
        let parts: Vec<&str> = text.split(':').collect();
        let (named, qualifier) = match parts.as_slice() {
            [named @ .., qualifier] if parts.len() == 8 => (named, Some(*qualifier)),
            named => (named, None),
        };
        let ["arn", partition, "lambda", region, account, "function", name] = named else {
            return Err(InvalidFunctionArn);
        };
        let is_text = |text: &str, max: usize, allowed: fn(char) -> bool| {
            (1..=max).contains(&text.len()) && text.chars().all(allowed)
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_valid = PARTITIONS.iter().any(|(known, _)| known == partition)
            && is_text(region, 32, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && account.len() == 12
            && is_text(account, 12, |c| c.is_ascii_digit())
            && is_text(name, 64, is_name)
            && qualifier.is_none_or(|qualifier| is_text(qualifier, 128, is_name));
        let owned = |text: &str| text.to_owned();
        let parts = FunctionParts {
            partition: owned(partition),
            region: owned(region),
            name: owned(name),
            qualifier: qualifier.map(owned),
        };
        if is_valid { Ok(Self { text: owned(text), parts }) } else { Err(InvalidFunctionArn) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:refund";

    #[test]
    fn arn_has_the_parts_of_a_request() {
        let alias: FunctionArn = format!("{ARN}:live").parse().unwrap();
        assert_eq!(alias.to_string(), format!("{ARN}:live"));
        let FunctionParts { region, name, qualifier, .. } = alias.parts();
        assert_eq!(
            (region.as_str(), name.as_str(), qualifier.as_deref()),
            ("eu-west-1", "refund", Some("live"))
        );
        assert_eq!(alias.parts().api_host(), "lambda.eu-west-1.amazonaws.com");
        let plain: FunctionArn = ARN.parse().unwrap();
        assert_eq!(plain.parts().qualifier, None);
        let china = ARN.replace("aws:lambda:eu-west-1", "aws-cn:lambda:cn-north-1");
        let china: FunctionArn = china.parse().unwrap();
        assert_eq!(china.parts().api_host(), "lambda.cn-north-1.amazonaws.com.cn");
    }

    #[test]
    fn wildcards_and_other_resources_are_refused() {
        for wrong in [
            "",
            "refund",
            "arn:aws:lambda:eu-west-1:123456789012:function:*",
            "arn:aws:lambda:*:123456789012:function:refund",
            "arn:aws:lambda:eu-west-1:12345678901:function:refund",
            "arn:aws:lambda:eu-west-1:123456789012:layer:refund",
            "arn:aws:s3:eu-west-1:123456789012:function:refund",
            "arn:other:lambda:eu-west-1:123456789012:function:refund",
            "arn:aws:lambda:eu.evil.example/:123456789012:function:refund",
            &format!("{ARN}:"),
            &format!("{ARN}:$LATEST"),
            &format!("{ARN}:live:x"),
        ] {
            assert!(wrong.parse::<FunctionArn>().is_err(), "{wrong}");
        }
    }
}
