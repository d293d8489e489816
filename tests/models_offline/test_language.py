"""Texts in another language than English are told apart, whatever their script."""

from __future__ import annotations

import pytest

from ragassay.models.offline.language import LanguageCheck
from ragassay.models.offline.model import OfflineModel

FOREIGN = {
    "German": "Der Akku hält bei voller Ladung etwa zehn Stunden.",
    "German without umlauts": "Die Karte kostet zwei Euro und gilt einen ganzen Tag.",
    "French": "La batterie tient environ dix heures avec une charge complète.",
    "Spanish": "La batería dura unas diez horas con una carga completa.",
    "Italian": "La batteria dura circa dieci ore con una carica completa.",
    "Portuguese": "A bateria dura cerca de dez horas com uma carga completa.",
    "Dutch": "De accu gaat ongeveer tien uur mee als hij vol is.",
    "Swedish": "Batteriet räcker i ungefär tio timmar när det är fulladdat.",
    "Finnish": "Akku kestää noin kymmenen tuntia yhdellä latauksella.",
    "Polish": "Bateria wystarcza na około dziesięć godzin po pełnym ładowaniu.",
    "Czech": "Baterie vydrží na jedno nabití asi deset hodin.",
    "Hungarian": "Az akkumulátor teljes töltéssel körülbelül tíz óráig bírja.",
    "Romanian": "Bateria ține aproximativ zece ore cu o încărcare completă.",
    "Turkish": "Pil tam şarjla yaklaşık on saat dayanır.",
    "Indonesian": "Baterai bertahan sekitar sepuluh jam setelah diisi penuh.",
    "Vietnamese": "Pin dùng được khoảng mười giờ sau khi sạc đầy.",
    "Swahili": "Betri hudumu kwa takriban saa kumi baada ya kuchaji.",
    "Tagalog": "Ang baterya ay tumatagal nang sampung oras kapag puno.",
    "Russian": "Аккумулятор работает около десяти часов.",
    "Ukrainian": "Акумулятор працює близько десяти годин.",
    "Greek": "Η μπαταρία διαρκεί περίπου δέκα ώρες.",
    "Arabic": "تدوم البطارية حوالي عشر ساعات.",
    "Hebrew": "הסוללה מחזיקה כעשר שעות.",
    "Persian": "باتری حدود ده ساعت کار می‌کند.",
    "Hindi": "बैटरी लगभग दस घंटे चलती है।",
    "Bengali": "ব্যাটারি প্রায় দশ ঘণ্টা চলে।",
    "Thai": "แบตเตอรี่ใช้งานได้ประมาณสิบชั่วโมง",
    "Chinese": "电池充满电后大约可以使用十个小时。",
    "Japanese": "バッテリーは約十時間もちます。",
    "Korean": "배터리는 약 열 시간 지속됩니다.",
}

ENGLISH = (
    "The battery lasts about ten hours on a full charge.",
    "Yes.",
    "In 1937.",
    "Paris",
    "27 km",
    "",
    "It's the user's own account; they can't see others' files.",
    "THE BATTERY LASTS TEN HOURS.",
    "La Casa de las Flores was first shown in 2018.",
    "Beethoven wrote the Große Fuge, and Dvořák the Rusalka.",
    "The angles α and β add up to 90 degrees.",
    "The word 电池 means battery.",
    "Bake the focaccia with rosemary and olive oil until it is golden.",
    "Amlodipine inhibits the influx of calcium ions across membranes.",
    "Set max_tokens to 512 and run pip install first.",
)


@pytest.fixture(scope="module")
def model() -> OfflineModel:
    return OfflineModel()


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_sentence_in_another_language_is_foreign(model: OfflineModel, text: str) -> None:
    assert model.is_foreign([text])


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_what_has_no_words_is_not_foreign(model: OfflineModel, text: str) -> None:
    assert not model.is_foreign([text])


def test_one_foreign_text_among_others_is_enough(model: OfflineModel) -> None:
    english = "The battery lasts ten hours."
    assert model.is_foreign([english, "Der Akku hält zehn Stunden.", english])
    assert not model.is_foreign([english, english])


def test_a_long_text_is_told_by_its_beginning() -> None:
    check = LanguageCheck(["battery", "lasts"])
    assert check.is_foreign("und der die das " * 100_000)
    assert not check.is_foreign("the battery lasts " * 10_000 + "und der die das " * 100_000)
