"""The documentation site in a headless browser, on a desktop and on a phone: `make test-docs`."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
import real_data

# `make test-docs` sets SITE. In CI it then has all that these tests need, and none may be skipped.
REQUIRED = "SITE" in os.environ and os.environ.get("CI") == "true"
if REQUIRED:
    from selenium import webdriver
else:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

SITE = Path(os.environ.get("SITE", real_data.REPOSITORY / "target" / "docs")).resolve()
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]
# The width in pixels, and whether the screen is that of a phone.
SCREENS = {"desktop": (1280, False), "phone": (390, True)}
PAGES = [
    "index.html",
    "gallery/index.html",
    "gallery/tag_documents.html",
    "generated/weald.RandomForestClassifier.html",
]


def skip(reason):
    (pytest.fail if REQUIRED else pytest.skip)(reason)


@pytest.fixture(scope="module")
def address():
    if "SITE" not in os.environ:
        pytest.skip("SITE is not set: make test-docs builds the site and looks at it")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(address):
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        skip(f"no browser is installed, looked for {', '.join(BROWSERS)}")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    # Containers run as root, for which the sandbox does not start, and have little shared memory.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = shutil.which("chromedriver")
    service = webdriver.ChromeService(driver) if driver else webdriver.ChromeService()
    with webdriver.Chrome(options=options, service=service) as chrome:
        yield chrome


def show(browser, url, screen):
    width, is_phone = SCREENS[screen]
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(url)
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", PAGES)
def test_pages_load_whole_and_fit_the_screen(browser, address, page, screen, tmp_path):
    errors = show(browser, address + page, screen)
    # Pictures further down the page are only loaded when they are requested.
    browser.execute_async_script(
        "const done = arguments[0];"
        "for (const image of document.images) image.loading = 'eager';"
        "Promise.allSettled([...document.images].map(image => image.decode())).then(() => done());"
    )
    broken = browser.execute_script(
        "return [...document.images].filter(image => image.naturalWidth === 0).map(image => image.src)"
    )
    assert broken == []
    assert errors == []
    content, window = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert content <= window == SCREENS[screen][0]
    picture = tmp_path / "page.png"
    assert browser.save_screenshot(str(picture))
    assert picture.stat().st_size > 0


def test_the_front_page_and_the_gallery_have_pictures(browser, address):
    for page, least in (("index.html", 1), ("gallery/index.html", 12)):
        show(browser, address + page, "desktop")
        assert browser.execute_script("return document.querySelectorAll('main img').length") >= least


@pytest.mark.parametrize("screen", SCREENS)
def test_no_page_is_wider_than_the_screen(browser, address, screen):
    wide = {}
    for page in [*sorted(SITE.glob("*.html")), *sorted(SITE.glob("tutorials/*.html"))]:
        show(browser, address + page.relative_to(SITE).as_posix(), screen)
        content = browser.execute_script("return document.documentElement.scrollWidth")
        if content > SCREENS[screen][0]:
            wide[page.name] = content
    assert wide == {}


def test_code_of_pages_is_no_wider_than_its_box_on_a_desktop(browser, address):
    long = {}
    for page in [page for folder in ("", "gallery/", "tutorials/") for page in sorted(SITE.glob(f"{folder}*.html"))]:
        show(browser, address + page.relative_to(SITE).as_posix(), "desktop")
        found = browser.execute_script(
            "const code = [...document.querySelectorAll('main .highlight pre')];"
            # What a program prints is as long as it is.
            "const written = code.filter(pre => !pre.closest('.sphx-glr-script-out'));"
            "return written.filter(pre => pre.scrollWidth > pre.clientWidth).map(pre => pre.textContent.slice(0, 60))"
        )
        if found:
            long[page.name] = found
    assert long == {}


def texts(*patterns):
    """The text of the pages, by name."""
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: make test-docs")
    return {page.name: page.read_text(encoding="utf-8") for pattern in patterns for page in SITE.glob(pattern)}


def test_every_picture_of_a_page_has_a_light_and_a_dark_variant():
    n_pictures = 0
    for page, text in texts("*.html", "tutorials/*.html").items():
        light, dark = set(), set()
        for image in re.findall(r"<img [^>]*>", text.partition("<main")[2]):
            file = re.search(r'src="(?:\.\./)?_images/([^"]+)"', image)
            if file is None:
                continue
            n_pictures += 1
            assert "only-light" in image or "only-dark" in image, (page, file[1])
            (dark if "only-dark" in image else light).add(file[1])
        assert {name.replace(".png", "-dark.png") for name in light} == dark, page
    assert n_pictures > 0


def test_no_list_of_examples_of_the_reference_is_empty():
    n_lists = 0
    for page, text in texts("generated/*.html").items():
        if ">Examples in the gallery<" in text:
            n_lists += 1
            assert "sphx-glr-thumbcontainer" in text, page
    assert n_lists > 0


@pytest.mark.parametrize("screen", SCREENS)
def test_the_search_finds_the_page_on_projections(browser, address, screen):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    assert show(browser, address + "search.html?q=projection", screen) == []

    def links(chrome):
        return chrome.find_elements(By.CSS_SELECTOR, "#search-results a")

    def has_projections(chrome):
        return any("/projections.html" in (link.get_attribute("href") or "") for link in links(chrome))

    # The page fetches and reads the search index itself; ten seconds are the limit for a page that hangs, not for a
    # slow one.
    WebDriverWait(browser, 10).until(has_projections)


# What a newcomer types, and the page (or the part of it) that has to come first.
QUESTIONS = {
    "install": "install.html",
    "pip install": "install.html",
    "which estimator": "choosing.html",
    "missing labels": "missing-labels.html",
    "unknown targets": "missing-labels.html",
    "NaN in X": "categories.html",
    "categorical features": "categories.html",
    "text classification": "tagging.html",
    "sparse matrix": "sparse-data.html",
    "early stopping": "boosting.html",
    "imbalanced labels": "faq.html",
    "probabilities": "faq.html",
    "number of threads": "faq.html",
    "GPU": "faq.html",
    "reproducible results": "determinism.html",
    "save a model": "model-files.html",
    "serve a model": "faq.html",
    "model size": "memory.html",
    "feature importance": "explanations.html",
    "xgboost": "migration.html",
    "X contains NaN, which LinearClassifier does not support": "faq.html",
    "got lists or sets of tags": "faq.html",
}


def test_the_search_answers_twenty_questions_of_newcomers_first(browser, address):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    def first(chrome):
        links = chrome.find_elements(By.CSS_SELECTOR, "#search-results li a")
        return links and links[0].get_attribute("href")

    found = {}
    for question in QUESTIONS:
        show(browser, f"{address}search.html?q={quote(question)}", "desktop")
        # As above: a limit for a page that hangs.
        link = WebDriverWait(browser, 10).until(first)
        found[question] = link.removeprefix(address).partition("#")[0].partition("?")[0]
    assert found == QUESTIONS


def test_the_rust_documentation_is_where_the_front_page_says(browser, address):
    show(browser, address + "index.html", "desktop")
    link = browser.execute_script("return document.querySelector('main a[href^=\"rust/\"]').getAttribute('href')")
    if not (SITE / "rust").is_dir():
        skip("the site was built without the documentation of the crate")
    assert (SITE / link).is_file()
