//! Words that people use whatever they talk about: what they tell does not depend on a directory.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::weights::{COMMON, HABITUAL, NUMBER};
use crate::stem::stem;

/// What is said to somebody rather than about something.
const SAID: &str = "
    absolutely actually agree ah alright also amazing anyway aha awesome basically brilliant btw bye cheers clear
    confirm continue cool correct course damn dear definitely done else else's especially exactly excellent feel fine
    forget fwiw glad go going gonna good gotcha great guess guys haha happy hello help hey hi hm hmm hopefully i'd i'll
    i'm imo indeed kindly know let lets like lol lovely maybe mean mhm mind morning nah neat never nevermind nice
    nope obviously ok okay oh once oops perfect perhaps please pls possibly proceed probably quite rather ready really
    right say sorry stop stuff super sure tell thank thanks thing think though thx totally true understand
    unfortunately wait wanna want welcome well whatever wonder wonderful worked worry wow yeah yep yes yet yup cannot
    able add again already always another anybody anyone anything anywhere everywhere nowhere elsewhere twice around ask away back become behind believe bit call
    can come day despite either enough even ever every everybody everyone everything explain find first follow get
    give happen however idea instead keep kind last later lot little long look many maybe much near need new next
    nobody none nothing often old one ones part per place put question reason same see seem several show since
    somebody someone something sometimes somewhere soon sort still suggest suppose take talk the thereby therefore
    together toward try turn two three upon use usual various versus via vs way whether without within word yourself
    answer hear hope matter point short simple simply start summarize summary briefly today tomorrow yesterday week
    month year moment minute quick quickly version wrong bad best better big small different easy hard high
";

/// What all work consists of.
const WORK: &str = "
    app application apply avoid begin behavior behaviour bug case change check class clean code correct create
    current currently data default define delete describe detail develop dir directory edit end error example
    exist expect extend fail failure feature feedback file files finish fix folder function generate handle
    implement implementation improve include input install issue item job key kind learn left less line list
    load local main make manage method mode modify move multiple name note number object open option order
    output own page pass path person place plan possible problem process program project project's provide
    question read recommend reference remove rename repo repository require result return rule run save section
    select send server service set setting setup side solution source space state status step store string
    structure summarise support system task text thing time todo tool type update user value variable view work
    write
";

/// What all work goes through, and what people have rules for: how commits are written, what is tested with what.
const HABIT: &str = "
    build commit compile config configure design doc docs document documentation log message module refactor
    review script team test testing tests
";

/// The most frequent words of a few other languages: a question in one of them is not about those.
const ELSEWHERE: &str = "
    aber als am auch auf aus bei bin bitte bist da danke das dass dein dem den der des die dies diese doch du ein eine
    einen einer er es für gibt hab habe hat ich ihr im ist ja jetzt kann kannst kein keine machen mal man mehr mein
    mich mir mit muss nach nicht noch nur oder ob schon sehr sein sich sie sind so soll um und uns vom von vor warum
    was weiter wenn wer werden wie wir wird wo zu zum zur über
    au aux avec bien bonjour ce ces cette comme dans de des donc du elle en est et être faire fait faut il ils je la
    le les leur mais merci moi mon ne nous ont ou où par pas peut plus pour pourquoi pouvez qu quand que quel quelle
    qui sa sans se ses si son sont sur tu un une veux vous à ça
    al algo aquí así cómo con cual cuando de del desde donde dónde el ella ellos en entre era es esta está este esto
    fue gracias hacer hay hola la las lo los más me mi muy no nos para pero por porque puede puedes qué quiero se ser
    si sin sobre son su también te tiene todo tu un una uno ya yo
    ao as até com como da das de do dos ela ele em essa esse está eu fazer foi isso já mais mas me meu muito na não
    nas no nos obrigado os ou para pela pelo por porque pode quando que quero sem ser seu sua também tem um uma você
    alla anche ancora che chi ci come con cosa così da dal dei del della di dove è fare gli grazie ho il in io la lo
    ma mi nel nella non ogni per perché più può quale quando quello questo sono su tra un una vorrei
    а без бы в вот все всё вы где да давай для до его ее если есть еще ещё же за и из или их к как когда который ли
    меня мне мы на надо не нет ни но ну о он она они от по пожалуйста почему при с со спасибо так там то только ты у
    уже что чтобы это этот я
";

/// What a word tells, compared with one that was chosen for what it means: 1 for most.
pub(crate) fn telling(term: &str) -> f32 {
    if term.bytes().all(|byte| byte.is_ascii_digit()) {
        return NUMBER;
    }
    let compared = || term.strip_suffix("er").or_else(|| term.strip_suffix("est"));
    let known = TELLING.get(term).or_else(|| TELLING.get(compared()?));
    known.copied().unwrap_or(1.0)
}

static TELLING: LazyLock<HashMap<String, f32>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    let lists = [(WORK, COMMON), (HABIT, HABITUAL), (ELSEWHERE, 0.0), (SAID, 0.0)];
    for (words, telling) in lists {
        table.extend(words.split_whitespace().map(|word| (stem(word).into_owned(), telling)));
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_everybody_tells_nothing() {
        for word in ["thank", "pleas", "dank", "merci", "спасибо", "для"] {
            assert_eq!(telling(word), 0.0, "{word}");
        }
        assert_eq!(telling("fix"), COMMON);
        assert_eq!(telling("fog"), 1.0);
    }
}
