"""Words of all scripts, texts without blanks, and words that are too short."""

import pickle
import re
import unicodedata
from collections import Counter

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from skcooc.words import (
    STOP_WORDS,
    WORD,
    has_no_blanks,
    pairs_of_letters,
    short_words,
    vectorizer_for,
)

SENTENCES = {  # words between blanks, as a tokenizer divides them where the script has none
    "Chinese": "今天 我们 在 北京 大学 学习 机器 学习 和 自然 语言 的 方法 很 有 意思 人 是 𠮷",
    "Japanese": "私 は 東京 の 大学 で 機械 学習 を 勉強 し て い ます コンピューター が 好き 時々",
    "Korean": "나는 오늘 서울에서 친구 를 만나 고 밥 을 먹었다 그 책 이 좋다 한국어 는 어렵다",
    "Thai": "ฉัน ไป โรงเรียน ทุก วัน และ เรียน ภาษา ไทย ที่ มหาวิทยาลัย กับ เพื่อน ณ กรุงเทพ ก็ ดี",
    "Lao": "ຂ້ອຍ ໄປ ໂຮງຮຽນ",
    "Burmese": "ကျွန်တော် သည် မြန်မာ စာ ကို လေ့လာ",
    "Khmer": "ខ្ញុំ ទៅ សាលា រៀន រាល់ ថ្ងៃ",
    "Tamil": "நான் தினமும் பள்ளிக்கு செல்கிறேன் தமிழ் மொழி மிகவும் அழகானது ஈ பூ",
    "Arabic": "ذَهَبَ الوَلَدُ إِلَى المَدْرَسَةِ فِي الصَّبَاحِ كَتَبَ",
    "Hindi": "मैं हर दिन स्कूल में हिंदी और गणित की पढ़ाई करता हूँ यह है न",
    "Bengali": "আমি প্রতিদিন স্কুলে যাই ও বাংলা পড়ি",
    "Persian": "می\u200cخواهم به خانه بروم",
    "Hebrew": "שָׁלוֹם עוֹלָם",
    "Amharic": "እኔ ወደ ትምህርት ቤት እሄዳለሁ ና",
    "Vietnamese": "Tôi học tại trường đại học Hà Nội và yêu tiếng Việt",
    "English": "The EU and UK rules on AI and 5g say no to snake_case of covid19",
}
WITHOUT_BLANKS = {"Chinese", "Japanese", "Thai", "Lao", "Burmese", "Khmer"}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("language", SENTENCES)
def test_each_word_is_kept_whole(language, form):
    text = unicodedata.normalize(form, SENTENCES[language])
    words = [word for word in text.split() if word != "5g"]
    assert re.findall(WORD, text) == words
    assert re.findall(WORD, text.replace(" ", ", ") + ".") == words
    assert not short_words([text])
    assert not has_no_blanks([text])


def test_numbers_and_single_letters_are_no_words():
    text = "3rd 1990s 42 ৪২ 3월 a I é е\u0301 _x o'clock x2 وَ 的"
    assert re.findall(WORD, text) == ["clock", "x2", "的"]
    counts = Counter({"a": 1, "i": 1, "é": 1, "е\u0301": 1, "o": 1, "وَ": 1})
    assert short_words([text, "A"]) == counts + Counter("a")


@pytest.mark.parametrize("language", SENTENCES)
def test_texts_without_blanks_are_seen(language):
    text = SENTENCES[language].replace(" ", "")
    assert has_no_blanks([text, text[:20]]) == (language in WITHOUT_BLANKS)
    assert not has_no_blanks([text, SENTENCES["English"] * 3])


def test_short_titles_without_blanks_are_seen():
    assert has_no_blanks(["苹果发布新手机", "物流很快,质量很好", "北京今天下雨"])
    assert not has_no_blanks(["苹果 发布 新 手机", "物流 很 快, 质量 很 好", "华盛顿邮报"])
    assert not has_no_blanks([])
    assert not has_no_blanks(["", "12"])


def test_pairs_of_letters_do_not_cross_scripts_or_marks():
    assert list(pairs_of_letters("我爱iPhone15手机,a。")) == ["我爱", "iPhone15", "手机"]
    assert list(pairs_of_letters("ดีมาก")) == ["ดีม", "มา", "าก"]
    assert list(pairs_of_letters("あ 1位")) == ["あ", "位"]


def test_a_vectorizer_for_texts():
    texts = ["The EU and the UK don't agree", "We've said that they'll agree in 2020"]
    vectorizer = vectorizer_for(texts, stop_words="english", min_df=1).fit(texts)
    assert vectorizer.get_feature_names_out().tolist() == ["agree", "eu", "said", "uk"]
    assert set(STOP_WORDS) > ENGLISH_STOP_WORDS
    assert {"won", "said"}.isdisjoint(STOP_WORDS)
    named = vectorizer_for(texts, token_pattern=r"\d+", ngram_range=(1, 2)).fit(texts)
    assert named.get_feature_names_out().tolist() == ["2020"]
    characters = vectorizer_for(["物流很快质量很好"], analyzer="char")
    assert (characters.analyzer, characters.token_pattern) == (
        "char",
        CountVectorizer().token_pattern,
    )


def test_a_vectorizer_for_texts_without_blanks_says_so_and_pickles():
    texts = ["物流很快质量很好"]
    with pytest.warns(
        UserWarning, match="no blanks between words, so pairs of neighbouring letters"
    ):
        vectorizer = vectorizer_for(texts, stop_words="english")
    copy = pickle.loads(pickle.dumps(vectorizer.fit(texts)))
    assert copy.get_feature_names_out().tolist() == sorted(pairs_of_letters(texts[0]))
    assert copy.transform(["质量"]).sum() == 1
