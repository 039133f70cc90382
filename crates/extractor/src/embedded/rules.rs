//! By which words a sentence teaches something: one row each, read from the top.
//!
//! A rule wants the whole construction, in its place: "always" where an order begins and not where something is
//! described, "I prefer" with a thing and not with one of two choices. What a rule doesn't know is left to a person or a
//! model; a memory that is wrong costs more than one that is missing.

use std::sync::LazyLock;

use bethink_memdir::Kind;
use regex::Regex;

use super::pattern::pattern;

/// What a memory is for, which decides how it tells to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// An order that stands.
    Standing,
    Preference,
    Person,
    /// A person other than the user, and what to see them for.
    People,
    Convention,
    Decision,
    Constraint,
    Deadline,
    Place,
    Pointer,
    /// Asked to be remembered, whatever it is.
    Asked,
}

impl Lesson {
    pub fn kind(self) -> Kind {
        match self {
            Lesson::Standing | Lesson::Preference => Kind::Feedback,
            Lesson::Person => Kind::User,
            Lesson::Pointer => Kind::Reference,
            _ => Kind::Project,
        }
    }
}

/// A rule that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub lesson: Lesson,
    /// Names the rule.
    pub rule: &'static str,
}

impl Held {
    /// Content words without which the sentence is about nothing that can be understood later.
    pub fn least_words(&self) -> usize {
        // These say by themselves what they are about.
        const ALONE: [&str; 6] =
            ["ask first", "style", "no such thing", "be so", "I am", "my name"];
        if ALONE.contains(&self.rule) { 1 } else { 2 }
    }
}

struct Rule {
    lesson: Lesson,
    name: &'static str,
    pattern: Regex,
    /// What the same words say otherwise.
    but: Option<Regex>,
}

/// The first rule that holds for a sentence in its plain form.
pub fn taught(plain: &str) -> Option<Held> {
    let held = RULES.iter().find(|rule| {
        rule.pattern.is_match(plain) && !rule.but.as_ref().is_some_and(|but| but.is_match(plain))
    })?;
    Some(Held { lesson: held.lesson, rule: held.name })
}

/// Where an order or a statement may begin: at the sentence's own beginning, or after a pause.
const START: &str = r"(?:^|[,;:–—] (?:and |but |so |please |also )*|\b(?:and|but) (?:please )?|^(?:when|whenever|if|before|after|while|every time|each time|any time|for|in|on|at) [^,]{3,80}, (?:please |then )?)";
/// Where only an order begins: people also smile, and always did.
const OPENING: &str = r"(?:^|[;:] |, please |^(?:when|whenever|if|before|after|while|every time|each time|any time|for|in|on) [^,]{3,80}, (?:please |then )?)";
/// What is ordered, as an order begins in the middle of a sentence.
const DO: &str = r"(?:use|run|write|ask|add|commit|push|merge|rebase|squash|sign|test|check|verify|format|lint|update|keep|put|name|create|delete|remove|touch|edit|change|modify|include|explain|answer|reply|prefer|avoid|deploy|install|build|log|document|comment|review|read|start|stop|wait|confirm|tell|show|import|return|mock|skip|assume|guess|invent|force|amend|revert|reset|rename|move|copy|open|close|bump|pin|tag|release|publish)";
/// A day, near or far, as people write it.
const DATE: &str = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|june|july|august|september|october|november|december)\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)\.? \d|\d{1,2}(?:st|nd|rd|th)\b|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}|end of (?:the )?(?:\w+ )?(?:week|month|quarter|year|sprint)|next (?:week|month|quarter|year|sprint)|q[1-4]\b)";
/// What people are.
const ROLE: &str = r"(?:developer|engineer|programmer|designer|scientist|researcher|student|phd|postdoc|professor|teacher|manager|founder|co-founder|cto|ceo|maintainer|analyst|administrator|admin|sysadmin|architect|freelancer|consultant|contractor|intern|beginner|newbie|novice|expert|lead|pm|dba|qa|tester|doctor|nurse|lawyer|accountant|writer|editor|artist|musician|hobbyist|physicist|chemist|biologist|mathematician|statistician|economist|linguist|journalist|translator|sre|devops|dev|reviewer|owner|boss|contact)";
/// What makes a habit of an order.
const ASSIGNED: &str =
    r"(?:ask|asking|approval|permission|confirmation|my ok|telling me|checking with me|confirming)";

fn rules() -> Vec<Rule> {
    let parts = [
        ("{S}", START),
        ("{O}", OPENING),
        ("{DO}", DO),
        ("{DATE}", DATE),
        ("{ROLE}", ROLE),
        ("{ASK}", ASSIGNED),
    ];
    let filled = |row: &str| {
        let whole = |text: String, (name, part): &(&str, &str)| text.replace(name, part);
        pattern(&parts.iter().fold(row.to_owned(), whole))
    };
    let rows = ENGLISH.iter().chain(super::languages::ROWS);
    let rules = rows.filter_map(|(name, lesson, pattern, but)| {
        let but = (!but.is_empty()).then(|| filled(but));
        Some(Rule {
            lesson: *lesson,
            name,
            pattern: filled(pattern)?,
            but: match but {
                Some(but) => Some(but?),
                None => None,
            },
        })
    });
    rules.collect()
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(rules);

/// Name, lesson, what must be there, what must not.
pub(super) type Row = (&'static str, Lesson, &'static str, &'static str);

use Lesson::{
    Constraint, Convention, Deadline, Decision, People, Person, Place, Pointer, Preference,
    Standing,
};

const ENGLISH: &[Row] = &[
    (
        "from now on",
        Standing,
        r"(?:^|, |\b(?:and|but) )(?:from now on|from here on(?: out)?|going forward|henceforth|from this point on|in (?:all )?future sessions|in every session|for all future)\b|\b(?:from now on|going forward|in (?:all )?future sessions|in every session)[.!]?$|{S}(?:next time|in (?:the )?future),? (?:please |always |never |just |you (?:should|must)|don't|do not|use |run |ask |write |make sure|check |avoid |keep |let me |tell me )",
        r"\b(?:users?|it|they|app|api|we|this|that) (?:will|would|can|could|may)\b|\b(?:from now on|going forward|henceforth),? (?:we|i|it|they|there|users?|you) (?:are|is|am|have|has|were|was)\b",
    ),
    (
        "always",
        Standing,
        r"{O}(?:always|never(?: ever)?) [a-z]{2,}|{S}(?:always|never(?: ever)?) {DO}\b|\b(?:you (?:should|must|need to|have to)|make sure (?:you|to)|be sure to|(?:want|like|need|expect) you to) (?:please )?(?:always|never)\b",
        r"\b(?:always|never) (?:mind|been|be able|was|were|is|are|has|had|have|got|gets|get|seen?|saw|knew|know|known|heard|happen\w*|fail\w*|return\w*|works?|worked|said|did|does|thought|went|came|ending|run(?:s|ning)|shows?|crash\w*|true|false|null|empty|the (?:same|case))\b",
    ),
    (
        "not again",
        Standing,
        r"{S}(?:please )?(?:don't|do not|never|stop) (?:ever )?[a-z]+\b.*\b(?:again|any ?more|ever|in (?:the )?future)[.!]*$",
        r"\b(?:work|fail|happen|pass|exist|need|see|appear)\w*\b.{0,20}$",
    ),
    (
        "ask first",
        Standing,
        r"{S}(?:please )?(?:always )?(?:ask|check with|confirm with|warn|tell) me (?:first )?before (?:you )?[a-z]{3,}|{S}(?:please )?(?:don't|do not|never) [a-z]{3,}\b.*\b(?:without (?:my )?{ASK}|unless i (?:ask|say|tell|request|explicitly|confirm|approve)|until i (?:say|tell|confirm|approve))|{S}only (?:commit|push|merge|deploy|publish|release|delete|install|run|edit|change|create)\b.*\b(?:when|if|after) i (?:ask|say|tell|confirm|approve|request)",
        "",
    ),
    (
        "whenever",
        Standing,
        r"^(?:whenever|every time|each time|any time|anytime) (?:you|we|i) [^,]{3,80}, (?:please |then |you should |you must |make sure (?:you |to )?)*(?:run|use|write|update|add|check|ask|tell|create|keep|commit|format|lint|don't|do not|never|always|make|show|explain|start|include|also)\b",
        "",
    ),
    (
        "style",
        Preference,
        r"{S}(?:please )?(?:only |just )?(?:use|write(?: in)?|keep|prefer|stick to|speak|answer|reply|respond|talk|format|spell|write to me|answer me|talk to me)\b.{0,40}\b(?:(?:british|american|australian|canadian|us|uk) (?:english|spelling)|spelling|in (?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|japanese|korean|turkish|swedish|danish|norwegian|finnish|czech|hindi|arabic)|conventional commits|imperative mood|metric units|iso dates|24[- ]hour|(?:commit messages|answers|replies|responses|explanations|summaries) (?:short|brief|concise|terse|simple|detailed|in |under |to ))",
        r"\b(?:a|the|your|one) (?:commit message|answer|reply|response|explanation|summary) (?:to|for|about|on)\b|\b(?:translat|function|readme|page|screen|ui|label|file|field|string)\w*",
    ),
    (
        "no such thing",
        Preference,
        r"{S}(?:please )?(?:(?:don't|do not|never) (?:use|add|write|put|include|leave|create|give|send)|no|avoid|skip|stop (?:using|adding|writing|putting|including|giving|creating)) (?:any |so many |all the |unnecessary |obvious |redundant )*(?:more )?(?:emojis?|emoticons|em dashes|co-authored-by|attributions?|jargon|filler|apologies|flattery|marketing language|exclamation marks|buzzwords)\b|{S}(?:please )?(?:don't|do not|stop) (?:apologi[sz]\w*|flatter\w*|explain\w* (?:basics|obvious things|things i know|every\w*)|summari[sz]\w* (?:at the end|what you did|every\w*))",
        "",
    ),
    (
        "be so",
        Preference,
        r"{S}(?:please )?be (?:more |very )?(?:concise|brief|terse|succinct|direct|honest|blunt|formal|informal|verbose) (?:with me|in (?:your|all)|when|from)",
        "",
    ),
    (
        "I prefer",
        Preference,
        r"{S}i (?:really |strongly |generally |usually |normally |typically |always |much |personally |definitely )*(?:prefer|favor|favour|like it (?:better |best )?when you|love it when you|hate it when you|hate when you|dislike it when you|don't like it when you|can't stand|want you to always)\b .{6,}|{S}i(?:'d| would) (?:rather|prefer(?: it)?(?: if| that)?) you (?:didn't|don't|not|never|always|asked|ask|used|use|wrote|write|kept|keep|ran|run)\b",
        r"\b(?:prefer|favor|favour) (?:to )?(?:this|that|it|these|those|the (?:first|second|third|last|latter|former|other|simple\w*|new|old)|option|number|your|his|her|their|one|both|neither|either|[a-d]|\d|□)\b|\b(?:here|instead|over the|in the|for the)\b",
    ),
    (
        "I am",
        Person,
        r"{S}i(?:'m| am) (?:a |an |the |one of the )(?:[\w/+#.-]+ ){0,4}{ROLE}s?\b|{S}i(?:'m| am) (?:very |quite |pretty |completely |totally |really |fairly |still )*(?:new to|not (?:very |so |too |that |at all )?familiar with|unfamiliar with|experienced (?:in|with)|based in|fluent in|a native|a fan of) .*[a-z□]|{S}i(?:'m| am) (?:still |just )?learning [\w+#]+(?: and [\w+#]+)?[.!]?$|{S}i(?:\'m| am) (?:colou?r[- ]?blind|dyslexic|deaf|blind|visually impaired|left-handed)\b",
        r"\b(?:the one|how|this|that|these|those|the (?:code|function|error|bug|session|test)\w*)\b",
    ),
    (
        "my name",
        Person,
        r"{S}my (?:full |first |last |preferred |own )?(?:name|nickname|pronouns|job|job title|role|time ?zone|native language|first language|mother tongue|background|profession|day job|github (?:user|username|user name|handle|account|login|id)|gitlab (?:user|username|handle)|twitter handle|slack handle|handle|username|email|e-mail|email address|editor|ide|operating system|os|shell|keyboard layout|boss|manager|colleague|co-?founder|employer) (?:is|are|'s) .{2,}|{S}(?:please )?(?:call me|i go by|i'm called) [a-z]{2,}",
        r"\b(?:call me (?:back|when|if|at|crazy|later))\b|\bis (?:not|wrong|broken|missing|empty|gone|failing|null)\b",
    ),
    (
        "I work",
        Person,
        r"{S}i (?:currently |mostly |mainly |usually |also )*(?:live|work) (?:in|at|for|as|from|mostly|mainly|with|on the) .{3,}|{S}i(?:'ve| have) (?:been (?:a|an|writing|using|programming|coding|working|doing|developing)\b.{2,60} (?:for|since) .*(?:year|month|decade|\d{4})|(?:\d+|two|three|four|five|six|seven|eight|nine|ten|many|over|about|a decade)\b.{0,20} years? of experience|never (?:used|written|touched|worked with|done))|{S}i (?:only |mostly |mainly |usually |primarily |normally |typically )(?:use|write|code|program|develop|deploy|speak|work|read)\b .{3,}|{S}i use .{2,40} (?:every day|daily|as my|at work|at home|on my|for everything|exclusively)",
        r"\b(?:this|that|these|those) \b|\bto (?:check|see|test|debug|find)\b",
    ),
    (
        "we use here",
        Convention,
        r"{S}(?:we|i) (?:only |always |never |exclusively |just |don't |do not |no longer )*(?:use|write|run|deploy|follow|support|target|format|name|prefix|squash|rebase|merge|release|test|log|commit|sign|stick to|avoid|require|allow|work)\b.{2,100}\b(?:here|in this (?:project|repo|repository|codebase|code base|team|company|org|house|workspace|monorepo|package)|in our (?:project|repo|repos|codebase|team|company|org)|at (?:work|our company|this company)|across the (?:team|company|codebase|repo|org)|on (?:this|our) (?:team|project)|everywhere)\b|{S}(?:here|in this (?:project|repo|repository|codebase|team|company)|at (?:work|our company)|(?:on|in) (?:this|our) (?:team|project|repo|company)),? we (?:only |always |never |don't |do not )*[a-z]{3,} .{3,}|{S}for this (?:project|repo|repository|codebase),? (?:we |please |always |never )*(?:use|write|run|follow|avoid|don't|do not|stick to)\b .{2,}",
        r"\b(?:the (?:same|wrong|old|new)|it|them)\b .{0,10}\bhere\b|\bsee here\b",
    ),
    (
        "we always",
        Convention,
        r"{S}we (?:always|never|only|no longer|generally|typically|usually|normally) (?:use|write|run|deploy|commit|merge|squash|rebase|release|ship|review|name|lint|tag|branch|push|document|pin|pair|require|avoid|sign|backport|support|test|publish|version)\b .{3,}",
        r"\b(?:function|method|variable|struct|pointer|callback|field)\b",
    ),
    (
        "our convention",
        Convention,
        r"{S}(?:the|our|my) (?:[a-z-]+ ){0,2}(?:convention|rule|policy|standard|style|house style|practice|workflow|process|agreement) (?:here |for [^,]{2,40} |in (?:this|our) [a-z]+ |is that |on [^,]{2,40} )*(?:is|are|says we)\b .{6,}|{S}(?:it's|it is) (?:our|company|team) (?:policy|convention|practice|rule)\b|{S}(?:the|our|my) (?:team|company|client|customer|boss|manager|organi[sz]ation) (?:wants|prefers|insists|requires|expects|agreed|decided|uses|does not|doesn't|has decided|forbids|mandates)\b .{6,}",
        r"\bis (?:broken|wrong|not|fine|failing|violated|missing|to (?:blame|be))\b|\b(?:cascad|css|computed|inline)\w*|\b(?:rule|workflow|process|style) is .{0,30}\b(?:fail|run|hang|slow|stuck|trigger|invalid|exit)\w*",
    ),
    (
        "we decided",
        Decision,
        r"{S}(?:we|the team|my team)(?:'ve| have| had)? (?:just |already |finally |recently )?(?:decided|agreed|chose|chosen|opted|settled on|committed to|standardi[sz]ed on|moved (?:away )?from|switched (?:to|from)|ruled out)\b .{8,}",
        r"\b(?:in|on|at|as) (?:above|here)\b|\bwhat we\b|\bwhen we\b|\bthat (?:one|way)\b",
    ),
    (
        "the reason",
        Decision,
        r"{S}(?:the|our|one|main) (?:main |real |only )?reason (?:that |why |behind |for which )?(?:we|i|our|the team)\b .{3,80}\b(?:is|was) .{6,}|{S}(?:we|i) (?:don't|do not|can't|cannot|won't|avoid|use|keep|pin|prefer|only|never|always|still|deliberately|intentionally|dropped|removed|forked|chose)\b .{3,120}\b(?:because|since|due to|so that) (?:of )?(?:our|the (?:client|customer|customers|users|law|team|company|auditors?|vendor|regulator|license|licence|contract)|legal|compliance|customers?|clients?|users|licens\w+|some (?:customers|clients|users)|it (?:once|broke|burned|bit|cost)|last (?:year|time|quarter|month)|of (?:a|an|the) (?:incident|outage|audit|law|contract))",
        r"\b(?:test|tests|error|bug|crash|build|failure)\b.{0,30}\b(?:fail\w*|is|was)\b",
    ),
    (
        "we must",
        Constraint,
        r"{S}(?:we|this project|the (?:app|application|project|product|library|cli|tool|service|code|codebase|package|api|server|client|site|plugin|sdk)|everything|it) (?:must|have to|has to|need to|needs to|can't|cannot|can not|may not|must not|are not allowed to|aren't allowed to|are required to|is required to|isn't allowed to|should not|shouldn't)\b.{3,120}\b(?:legal\w*|by law|laws?|compliance|gdpr|hipaa|pci|sox|soc ?2|iso ?27\d+|licen[cs]\w+|contract\w*|customers?|clients?|auditors?|audit|polic(?:y|ies)|regulat\w+|security team|procurement|vendor|sla|the company|management|air[- ]?gapped|offline|accessib\w+|wcag)\b|{S}(?:we|this project|the (?:app|application|project|product|library|cli|tool|package|sdk)|everything|it|the code) (?:must|has to|have to|needs to|need to) (?:still |always |also |keep |stay |remain |be )*(?:support\w*|run on|run in|work(?:ing)? (?:on|with|in|without)|compatible with|build with|compile (?:on|with))\b .{3,}",
        r"^(?:it|we) (?:needs?|has|have) to (?:work|run)\b.{0,12}$",
    ),
    (
        "deadline",
        Deadline,
        r"\b(?:deadline|due|release|launch|code freeze|feature freeze|freeze|demo|cut-?off|go[- ]?live|sunset|end of life|eol|migration|review|audit|presentation|exam|defen[cs]e|submission|beta|kickoff)\b[^.?!]{0,60}\b(?:is|are|was moved|moved|due|set|scheduled|planned|happens|starts|begins|ends)\b[^.?!]{0,30}\b(?:{DATE})|{S}we (?:are |will |plan to |want to |have to |need to |must |aim to |'re |'ll )?(?:going to )?(?:ship|release|launch|go live|demo|present|freeze|deliver|submit|finish|migrate|be done|deprecate|cut the release|have [^.]{2,60} (?:done|ready|live|shipped))\w*\b[^.?!]{0,60}\b(?:on|by|before|until|in|next|at the)\b[^.?!]{0,20}\b(?:{DATE})",
        r"\b(?:released|came out|fail\w*|since|broken|crash\w*|empty|field|fields|form|default|null|job|pipeline|branch|build|column|label|button|because of)\b",
    ),
    (
        "who does what",
        People,
        r"{S}[\p{L}-]+(?: [\p{L}-]+)? (?:is|are) (?:our|the|my) (?:[a-z-]+ ){0,3}{ROLE}s?\b|{S}[\p{L}-]{2,}(?: [\p{L}-]+)? (?:owns|maintains|leads|is responsible for|is in charge of|takes care of) (?:our |the |all )?.{0,40}\b(?:team|service|services|repo|repository|module|releases?|project|frontend|front end|backend|back end|infra|infrastructure|pipeline|api|docs|design|database|deployments?|billing|auth|mobile|security|platform)\b|{S}(?:please )?(?:ask|talk to|check with|ping|loop in|consult|contact) (?:[\p{L}-]+) (?:before|when|about|if|for|whenever) .{4,}",
        r"^(?:this|that|it|which|there|he|she|who|what|here|they|these|one|claude|user|the|me|them|us|a|an|each|every|my|our|your)\b|\b(?:ask|ping|contact|check with|talk to) (?:me|the|a|an|it|for|them|us|you|your|about|claude)\b",
    ),
    (
        "where it runs",
        Place,
        r"{S}(?:our |the |my )?(?:staging|production|prod|test|dev|development|qa|uat|preview|live|build) ?(?:server|cluster|environment|env|system|database|db|site|instance|machine|box|host|deployment)?s? (?:is|are|runs?|lives?|sits?|is deployed|are deployed|is hosted|are hosted) (?:on|at|in|under|behind|by) .{3,}",
        r"\b(?:on (?:fire|hold|fallback|failure)|in (?:a|the|an|progress|sync|turn|here)|at (?:the|a) (?:moment|end)|is (?:in|on|at) (?:a|an|its|line)\b|test(?:s)? (?:is|are|runs?|lives?))",
    ),
    (
        "where it is kept",
        Pointer,
        r"\b(?:tracked|documented|kept|stored|recorded|reported|filed|discussed|maintained|described|specified|published|lives?|(?:can be|to be) found)\b (?:in|on|at|under) (?:the |our |a |my )?(?:[\w□'-]+ ){0,3}(?:linear|jira|notion|confluence|figma|slack|trello|asana|youtrack|clickup|google (?:docs?|drive|sheets?)|sharepoint|grafana|datadog|sentry|pagerduty|miro|airtable|bugzilla|zendesk|◊)",
        r"\b(?:create|add|make|file|open|update|move|put|log) ",
    ),
    (
        "address",
        Pointer,
        r"{S}(?:(?:our|the|my|all|latest|official|api|more|full|design|internal) )*(?:[\w-]+ ){0,3}(?:docs?|documentation|spec|specification|specs|dashboard|dashboards|wiki|board|tracker|tickets|bugs|designs?|mockups?|style ?guide|guidelines|runbooks?|playbook|reference|handbook|changelog|roadmap|channel|forum|schema|api|server|instance|site|registry|status page|logs|metrics|reports|calendar|repo|repository|upstream|mirror|wireframes?|contract)(?: (?:for|of|about) [^◊]{2,50}?)?(?: (?:is|are|lives?|can be found|is found|is hosted|are hosted|is published))?(?: (?:at|on|in|under|here))?:? ?\(?◊",
        r"^(?:see|look|check|read|open|fetch|review|reply|respond|update|fix|use|address)\b|\b(?:did|does|fails?|broken|error|404|down|wrong)\b",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_rule() {
        assert_eq!(RULES.len(), ENGLISH.len() + super::super::languages::ROWS.len());
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
