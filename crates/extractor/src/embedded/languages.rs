//! The same rules in the forms that are frequent in other languages.
//!
//! Only what is said in one fixed form: an order that stands, to be remembered, a preference, a name, a
//! decision. The rest is left to a model, which reads all of them.

use super::rules::Lesson::{Convention, Decision, Person, Preference, Standing};
use super::rules::Row;

pub(super) const ROWS: &[Row] = &[
    (
        "de: ab jetzt",
        Standing,
        r"\b(?:ab jetzt|ab sofort|von nun an|von jetzt an|in zukunft|künftig|zukünftig)\b .{6,}|{S}(?:bitte )?(?:mach|mache|tu|nutze|verwende|schreib|schreibe|benutze|committe|pushe|lösche|ändere|frag|frage)\b .{0,80}\b(?:nie wieder|niemals|immer|nie)\b|{S}(?:bitte )?(?:immer|nie|niemals|nie wieder) .{4,}(?:en|ern|eln)[.!]?$|{S}frag(?:e)? (?:mich )?(?:immer |erst |vorher )+.{3,}",
        r"\b(?:wird|werden|könnte|kann|soll) (?:der|die|das|es|user|nutzer)\b|\b(?:war|wurde|hat|hatte|ist) (?:schon )?(?:immer|nie)\b",
    ),
    (
        "de: ich bevorzuge",
        Preference,
        r"{S}ich (?:bevorzuge|mag (?:lieber|keine)|hätte (?:generell|immer|grundsätzlich)|will (?:immer|nie|grundsätzlich)|möchte (?:immer|nie|grundsätzlich|generell)) .{4,}|{S}(?:bitte )?(?:antworte|schreib|schreibe|sprich|erkläre|rede)\b.{0,30}\b(?:auf|in) (?:deutsch|englisch|französisch|spanisch)\b",
        r"\b(?:variante|option|ersten?|zweiten?|das|diese[nrs]?) ?[a-d\d]?[.!]?$",
    ),
    (
        "de: ich bin",
        Person,
        r"{S}(?:ich heiße|ich heisse|mein name ist|nenn mich|mein github[- ](?:name|user|account|benutzer) ist) .{2,}|{S}ich (?:bin|arbeite) (?:als |ein |eine |der |die )?(?:\w+ )?\w*(?:entwickler|entwicklerin|ingenieur|ingenieurin|student|studentin|wissenschaftler|wissenschaftlerin|designer|designerin|anfänger|anfängerin|lehrer|lehrerin|informatiker|informatikerin)\b|{S}ich (?:arbeite|wohne) (?:bei|in|für|als) .{2,}",
        "",
    ),
    (
        "de: wir nutzen hier",
        Convention,
        r"{S}wir (?:nutzen|verwenden|benutzen|schreiben|deployen|arbeiten|committen) (?:hier|in diesem projekt|im team|bei uns|immer|nie|grundsätzlich|ausschließlich|nur) .{2,}|{S}(?:hier|in diesem projekt|bei uns|im team) (?:nutzen|verwenden|benutzen|schreiben|gilt) .{3,}",
        "",
    ),
    (
        "de: wir haben entschieden",
        Decision,
        r"{S}(?:wir|das team) (?:haben|hat) (?:uns |sich )?.{3,}\b(?:entschieden|beschlossen|geeinigt)\b",
        "",
    ),
    (
        "fr: désormais",
        Standing,
        r"(?:^|, )(?:désormais|dorénavant|à partir de maintenant|à l'avenir)\b,? .{6,}|{S}(?:ne|n') ?[a-zéèêç]+ (?:plus )?jamais .{4,}|{S}(?:utilise|écris|lance|vérifie|réponds|demande|fais|garde|mets)[a-z-]* (?:bien )?toujours .{3,}|{S}(?:réponds|parle|écris)(?:-moi)? (?:toujours )?en (?:français|anglais|espagnol|allemand)\b",
        r"\bj(?:e|')\b.*\bjamais\b",
    ),
    (
        "fr: je préfère",
        Preference,
        r"{S}je (?:préfère|n'aime pas) (?:que tu|quand tu|les|des|utiliser|avoir|toujours) .{3,}",
        "",
    ),
    (
        "fr: je suis",
        Person,
        r"{S}(?:je m'appelle|mon nom est|appelle-moi) .{2,}|{S}je suis (?:un |une |le |la )?(?:développeu\w+|ingénieu\w+|étudiant\w*|cherch\w+|designer|débutant\w*|enseignant\w*|professeur\w*)\b|{S}je travaille (?:chez|pour|comme|à) .{2,}",
        "",
    ),
    (
        "fr: ici on utilise",
        Convention,
        r"{S}(?:ici|dans ce (?:projet|dépôt)|chez nous|dans l'équipe),? (?:on|nous) [a-zéèêç]+ .{3,}|{S}(?:on|nous) (?:utilise|utilisons|n'utilise|n'utilisons) .{2,60} (?:ici|dans ce projet|dans ce dépôt|chez nous|partout)\b",
        "",
    ),
    (
        "fr: nous avons décidé",
        Decision,
        r"{S}(?:nous avons|on a|l'équipe a) (?:décidé|choisi|convenu)\b .{6,}",
        "",
    ),
    (
        "es: a partir de ahora",
        Standing,
        r"(?:^|, )(?:a partir de ahora|de ahora en adelante|desde ahora|en el futuro)\b,? .{6,}|{S}(?:siempre|nunca|jamás) (?:uses|hagas|escribas|borres|cambies|subas|modifiques|añadas|usa|haz|escribe|ejecuta|pregunta|responde|revisa|utiliza|utilices)\b.{3,}|{S}(?:usa|haz|escribe|ejecuta|pregunta|responde|utiliza)(?:me)? siempre .{3,}|{S}(?:responde|habla|escribe)(?:me)? (?:siempre )?en (?:español|inglés|francés|alemán)\b",
        "",
    ),
    (
        "es: prefiero",
        Preference,
        r"{S}(?:yo )?(?:prefiero|no me gusta) (?:que (?:uses|no|hagas|me|escribas|las|los)|usar|los|las|cuando) .{3,}",
        r"\b(?:primera|segunda|esta|esa|opción)\b",
    ),
    (
        "es: soy",
        Person,
        r"{S}(?:me llamo|mi nombre es|llámame) .{2,}|{S}(?:yo )?soy (?:un |una |el |la )?(?:desarrollador\w*|ingenier\w+|estudiante|investigador\w*|diseñador\w*|principiante|profesor\w*|programador\w*)\b|{S}trabajo (?:en|para|como) .{2,}",
        "",
    ),
    (
        "es: aquí usamos",
        Convention,
        r"{S}(?:aquí|en este (?:proyecto|repositorio)|en (?:nuestro|el) equipo),? (?:siempre |nunca |solo |no )?[a-zé]+mos .{2,}|{S}(?:nosotros )?(?:siempre |nunca |no )?(?:usamos|utilizamos|escribimos) .{2,60} (?:aquí|en este proyecto|en este repositorio)\b",
        "",
    ),
    (
        "es: hemos decidido",
        Decision,
        r"{S}(?:hemos|el equipo ha) (?:decidido|acordado|elegido)\b .{6,}",
        "",
    ),
    (
        "pt: a partir de agora",
        Standing,
        r"(?:^|, )(?:a partir de agora|de agora em diante|daqui (?:para|em) (?:a )?(?:frente|diante))\b,? .{6,}|{S}(?:sempre|nunca) (?:use|faça|escreva|execute|pergunte|responda|altere|apague|suba)\b .{3,}|{S}(?:responda|fale|escreva)(?:-me)? (?:sempre )?em (?:português|inglês|espanhol)\b|{S}(?:eu )?prefiro que você .{4,}",
        "",
    ),
    (
        "pt: sou",
        Person,
        r"{S}(?:me chamo|meu nome é) .{2,}|{S}(?:eu )?sou (?:um |uma |o |a )?(?:desenvolvedor\w*|engenheir\w+|estudante|pesquisador\w*|programador\w*)\b",
        "",
    ),
    (
        "it: d'ora in poi",
        Standing,
        r"(?:^|, )(?:d'ora in poi|da ora in poi|in futuro)\b,? .{6,}|{S}(?:usa|scrivi|esegui|chiedi|rispondi|controlla) sempre .{3,}|{S}non [a-z]+(?:re)? mai .{3,}|{S}(?:rispondi|scrivi|parla)(?:mi)? (?:sempre )?in (?:italiano|inglese)\b|{S}preferisco che (?:tu )?.{4,}",
        "",
    ),
    (
        "it: sono",
        Person,
        r"{S}(?:mi chiamo|il mio nome è) .{2,}|{S}(?:io )?sono (?:un |uno |una |il |la )?(?:sviluppat\w+|ingegner\w+|studente\w*|ricercat\w+|programmat\w+)\b",
        "",
    ),
    (
        "nl: vanaf nu",
        Standing,
        r"(?:^|, )(?:vanaf nu|voortaan|in het vervolg)\b,? .{6,}|{S}(?:gebruik|schrijf|doe|vraag|draai|antwoord) (?:altijd|nooit) .{3,}|{S}(?:antwoord|schrijf|praat) (?:altijd )?in het (?:nederlands|engels)\b",
        "",
    ),
    (
        "nl: ik ben",
        Person,
        r"{S}(?:ik heet|mijn naam is) .{2,}|{S}ik ben (?:een )?(?:\w*ontwikkelaar|ingenieur|student|onderzoeker|programmeur)\b",
        "",
    ),
    (
        "zh: 以后",
        Standing,
        r"^(?:请|你)?(?:以后|从现在开始|从现在起|今后|往后|永远|总是|始终|务必)[^吗？]{4,}$|^(?:请)?(?:不要再|别再|永远不要|绝对不要)[^吗？]{2,}$|^(?:请)?(?:一律|始终|总是)?用(?:中文|英文|英语|日文)(?:回答|回复|交流)",
        r"[？?]$|以后(?:可能|也许|再|会)",
    ),
    (
        "zh: 我是",
        Person,
        r"^我(?:叫|的名字是|的名字叫)[^？]{1,}|^我是(?:一名|一个|一位)?[^，。？]{0,8}(?:工程师|开发者|程序员|学生|设计师|研究员|老师|经理|新手|初学者)",
        "",
    ),
    ("zh: 我们决定", Decision, r"^我们(?:已经)?(?:决定|商定|约定)[^？]{4,}", ""),
    (
        "ja: 今後は",
        Standing,
        r"^(?:今後は|今後、|これからは|次回から|次からは).{4,}|(?:必ず|常に|いつも|絶対に).{2,}(?:[てで](?:ください|下さい)|すること)[。！]?$|(?:日本語|英語)で(?:答えて|回答して|書いて|返事して)",
        r"[？?]$|ですか",
    ),
    (
        "ja: 私は",
        Person,
        r"^(?:私|僕|俺)(?:の名前)?は.{1,20}(?:です|と申します|といいます)[。]?$|^(?:私|僕)は.{0,10}(?:エンジニア|開発者|プログラマー|学生|デザイナー|研究者|初心者)",
        r"これ|それ|ここ",
    ),
];
