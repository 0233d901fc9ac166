"""Labelled texts with and without secrets. Every secret is invented.

They are split so that repository scanners ignore them: "~" is removed, and secrets are between "⟦"
and "⟧".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SECRET = re.compile("⟦(.+?)⟧", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with secrets.

    Attributes:
        kind: Kind of the secrets.
        text: The text.
        secrets: The secrets, in order.
        redacted: The expected text after redaction.
    """

    kind: str
    text: str
    secrets: tuple[str, ...]
    redacted: str


def _sample(kind: str, marked: str) -> Sample:
    whole = marked.replace("~", "")
    secrets = tuple(_SECRET.findall(whole))
    redacted = _SECRET.sub("[REDACTED]", whole)
    return Sample(kind, whole.replace("⟦", "").replace("⟧", ""), secrets, redacted)


_MARKED = {
    "aws": (
        "my aws key is ⟦AK~IAQ3EGRIHTA7XTWWLX⟧",
        "AWS_ACCESS_KEY_ID=⟦AK~IAZ7QXKPLMW3VDNRT2⟧",
        "aws_secret_access_key = ⟦wJ4lrXUtnFEMI/K7MD~ENG/bPxRfiCYzVQ8HNsTaW⟧",
        "creds: ⟦AS~IAQ3EGRIHTA7XTWWLX⟧ and ⟦wJ4lrXUtnFEMI/K7MD~ENG/bPxRfiCYzVQ8HNsTaW⟧ in eu-west-1",  # noqa: E501 - in one piece
        'export AWS_SECRET_ACCESS_KEY="⟦Zx81hQpLs0+vKt3~mNbWcYe7RuOiDfGaJq2XzVtHy⟧"',
    ),
    "google": (
        "Maps key: ⟦AI~zaSyD4k9fQ2mX7pLwR8tVbN3cJ6hYgU1oEzKs⟧",
        "the oauth secret GO~: ⟦GOC~SPX-a8Kd03Lmqpx9Zt7bVn2cRw5yUe1i⟧",
        "Authorization: Bearer ⟦ya~29.a0AfH6SMBx3kQz8vLmNp2RtYw7Ue4Ic9oXd⟧",
    ),
    "github": (
        "use ⟦gh~p_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj⟧ for the clone",
        "token gh~: ⟦github~_pat_11ABCDEFG0a8Kd03Lmqpx_9Zt7bVn2cRw5yUe1iOaSdFgHjKl⟧",
        "https://⟦gh~o_16C7e42F292c6912E7710c838347Ae178B4a⟧@github.com/acme/app.git",
        'run: env={"GITHUB_TOKEN":"⟦gh~s_16C7e42F292c6912E7710c838347Ae178B4a⟧"}',
        "log line\\n⟦gh~u_16C7e42F292c6912E7710c838347Ae178B4a⟧\\nend",
    ),
    "gitlab": (
        "gitlab: ⟦gl~pat-x8Kd03Lmqpx9Zt7bVn2c⟧",
        "CI uses ⟦gl~dt-x8Kd03Lmqpx9Zt7bVn2c⟧ to deploy.",
        "runner registered with ⟦gl~rt-x8Kd03Lmqpx9_Zt7bVn2c⟧",
    ),
    "slack": (
        "bot token ⟦xo~xb-2147483647-1234567890123-a8Kd03Lmqpx9Zt7bVn2cRw5y⟧",
        "⟦xo~xp-2147483647-1234567890-1234567890-a8kd03lmqpx9zt7bvn2c⟧ is mine",
        "⟦xa~pp-1-A0B1C2D3E4F-1234567890123-a8kd03lmqpx9zt7bvn2c⟧",
        "post to https://hooks.slack.com/services/⟦T0~1AB2CD3/B04EF5GH6/a8Kd03Lmqpx9Zt7bVn2cRw5y⟧",
    ),
    "stripe": (
        "Stripe: ⟦sk~_live_51H8xKqLmNpRtVwYz3a8Kd03L⟧",
        "test mode uses ⟦sk~_test_4eC39HqLyjWDarjtT1zdp7dc⟧ only",
        "⟦rk~_live_51H8xKqLmNpRtVwYz3a8Kd03L⟧ is the restricted one",
        "webhook secret ⟦wh~sec_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSd⟧",
    ),
    "openai": (
        "OPENAI_API_KEY=⟦sk~-proj-a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHjKlZx⟧",
        "the key ⟦sk~-a8Kd03Lmqpx9Zt7bVn2cT3BlbkFJRw5yUe1iOaSdFgHjKlZx⟧ ran out",
        "I pasted ⟦sk~-svcacct-a8Kd03Lmqpx9Zt7bVn2cRw5y_Ue1iOaSdFgHjKlZx⟧ by mistake",
    ),
    "anthropic": (
        "ANTHROPIC_API_KEY=⟦sk~-ant-api03-a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHjKlZx-AAbbCC⟧",
        "key ⟦sk~-ant-admin01-a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSd⟧.",
    ),
    "twilio": (
        "twilio key ⟦S~K0123456789abcdef0123456789abcdef⟧",
        "TWILIO_AUTH_TOKEN=⟦0a1b2c3d4e5f60718~293a4b5c6d7e8f9⟧",
        "Account ⟦A~C0123456789abcdef0123456789abcdef⟧ sends the texts",
    ),
    "sendgrid": (
        "⟦S~G.a8Kd03Lmqpx9Zt7bVn2cRw.5yUe1iOaSdFgHjKlZxCvBnMqWeRtYuIoPa8Kd03Lmqp⟧",
        "SENDGRID_API_KEY='⟦S~G.a8Kd03Lmqpx9Zt7bVn2cRw.5yUe1iOaSdFgHjKlZxCvBnMqWeRtYuIoPa8Kd03Lmqp⟧'",
    ),
    "npm": (
        "//registry/:_authToken=⟦np~m_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj⟧",
        "publish with ⟦np~m_Zx81hQpLs0vKt3mNbWcYe7RuOiDfGaJq2XzV⟧",
    ),
    "pypi": (
        "password = ⟦py~pi-AgEIcHlwaS5vcmcCJDU2YjI0ZTk4LTM0ZjAtNGE1Mi04ZTJiLWFhYmJjY2RkZWVmZg⟧",
        "twine upload -p ⟦py~pi-AgEIcHlwaS5vcmcCJDU2YjI0ZTk4LTM0ZjAtNGE1Mi04ZTJiLWFhYmJjY2RkZWVmZg⟧",  # noqa: E501 - in one piece
    ),
    "jwt": (
        "session ⟦ey~JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P⟧",  # noqa: E501 - in one piece
        "Authorization: Bearer ⟦ey~JhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.⟧",
    ),
    "other tokens": (
        "hugging face ⟦h~f_a8KdLmqpxZtbVncRwyUeiOaSdFgHjKlZxC⟧",
        "telegram bot ⟦123456789:AA~Ha8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSd⟧",
        "digital ocean ⟦do~p_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef⟧",
        "vault ⟦hv~s.CAESIJa8Kd03Lmqpx9Zt7bVn2cRw5y⟧",
        "mailchimp ⟦0123456789abcdef01234567~89abcdef-us12⟧",
        "shopify ⟦sh~pat_0123456789abcdef0123456789abcdef⟧",
        "linear ⟦li~n_api_a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSd⟧",
        "curl -H 'X-Api-Key: ⟦a8Kd03Lmqp~x9Zt7bVn2c⟧' example.org",
        "Authorization: Basic ⟦Ym9iOmh1~bnRlcjI=⟧",
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=⟦a8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHjKl~ZxCvBnMqWeRtYuIoPa8Kd03Lmqpx9Zt7bVn2cRw5yUe1i==⟧",
        "discord hook https://discord.com/api/webhooks/⟦123456789012345678/a8Kd03Lmqpx9Zt7~bVn2cRw5yUe1iOaSdFgHj⟧",
    ),
    "named": (
        "api_key=⟦9f8e7d6c5b~4a3f2e1d0c⟧",
        "apiKey: '⟦9f8e7d6c5b~4a3f2e1d0c⟧',",
        '"api-key": "⟦550e8400-e29b-41d4~-a716-446655440000⟧"',
        "The API key is ⟦9f8e7d6c5b~4a3f2e1d0c⟧.",
        "client_secret = ⟦Zx81~hQpLs0vKt3mNbW⟧",
        "CLIENT_SECRET=⟦correcthorse~batterystaple⟧",
        "access token: ⟦8d969eef6ecad3c2~9a3a629280e686cf⟧",
        "my access token for the printer is ⟦pr1nt~er-x92⟧",
        "secret: ⟦s3cr3t~-v4lue⟧",
        "token=⟦abcdefghijklmnop~qrstuvwx⟧&user=bob",
        "--token ⟦9f8e7d6c~5b4a3f2e⟧",
        "auth_token: ⟦9f8e7d6c~5b4a3f2e⟧",
        "encryption key = ⟦Zx81hQpLs0vK~t3mNbWcYe7Ru⟧",
        "STRIPE_KEY=⟦Zx81hQpLs0vK~t3mNbWcYe7Ru⟧",
        "webhook secret: ⟦h00k~secret99⟧",
        "Der API-Schlüssel lautet ⟦9f8e7d6c~5b4a3f2e⟧.",
        "session_token='⟦FQoGZXIvYXdzEB~Ma8Kd03L⟧'",
        "deploy key: ⟦k3y-for~-deploy-77⟧",
    ),
    "password": (
        "password: ⟦hun~ter2⟧",
        "Password: ⟦Summer~2024!⟧",
        "pwd=⟦hun~ter2⟧",
        "PWD = '⟦p@ss~ w0rd⟧'",
        "passwd:⟦root~1234⟧",
        "my password is ⟦hun~ter2⟧",
        "My password is ⟦sun~shine⟧.",
        "the wifi password at home is ⟦Blue~Whale42⟧, write it down",
        "password for Netflix is ⟦Fri~day-Movie-9⟧",
        "the password for my laptop: ⟦tr0ub4d~or&3⟧",
        "I changed my password to ⟦N3w~Pass!⟧ yesterday",
        'the password is "⟦correct horse~ battery staple⟧"',
        "passphrase: ⟦correct horse~ battery staple⟧",
        "Seed phrase: ⟦witch collapse practice~ feed shame open despair⟧",
        "Passwort ist ⟦geh~eim123⟧",
        "Mein Passwort ist ⟦Sommer~2024⟧.",
        "Das Passwort für das WLAN lautet ⟦Kaff~ee#99⟧",
        "Passwort: ⟦Apfel~baum7⟧",
        "Kennwort = ⟦Vogel~haus⟧",
        "Das neue Kennwort vom Router ist ⟦Vogel~haus11⟧",
        "Ich habe mein Passwort auf ⟦Winter~2025!⟧ geändert",
        "DB_PASSWORD=⟦s3cr~3t⟧",
        "dbPassword: ⟦s3cr~3t⟧,",
        '{"user": "bob", "password": "⟦hun~ter2⟧"}',
        "<password>⟦hun~ter2⟧</password>",
        "username bob password ⟦hun~ter22⟧",
        "mysql -u root --password ⟦t00r~pass⟧",
        "curl -u bob:⟦hun~ter2⟧ example.org",
        "Server=db;User Id=sa;Password=⟦Str0ng~Pwd⟧;Encrypt=true",
        "ftp login bob / pass: ⟦hun~ter2⟧",
        "pw: ⟦hun~ter2⟧",
        "PW für Amazon: ⟦Primel~2023⟧",
        "password=⟦pass~word123⟧",
        "password: ⟦1234~56⟧",
        "**Password:** ⟦hun~ter2⟧",
        "Password:\n⟦hun~ter2⟧",
        "password -> ⟦hun~ter2⟧",
        "ADMIN_PASSWORD: ⟦change~me⟧",
    ),
    "connection": (
        "postgres://bob:⟦hun~ter2⟧@db.example.org:5432/app",
        "postgresql+psycopg://bob:⟦p%40ss~w0rd⟧@localhost/app",
        "mongodb+srv://root:⟦Zx81~hQpL⟧@cluster0.mongodb.net/?retryWrites=true",
        "amqp://guest:⟦rab~bit99⟧@rabbit:5672/%2f",
        "redis://:⟦hun~ter2⟧@cache:6379/0",
        "rediss://default:⟦AV~Ns_a8Kd03L⟧@cache:25061",
        "https://bob:⟦hun~ter2⟧@intranet.example.org/wiki",
        "mysql://root:⟦t0~p/s3cret⟧@127.0.0.1/app",
        "smtp://mailer:⟦Ma~il3r!⟧@smtp.example.org:587",
        "DATABASE_URL=postgres://u:⟦p@ss~@word⟧@db/app",
        "ftp://anna:⟦gehe~im⟧@files.example.org and more",
    ),
    "private key": (
        "⟦-----BEGIN RSA PRIV~ATE KEY-----\nMIIEowIBAAKCAQEAx8Kd03Lmqpx9Zt7b\nVn2cRw5yUe1iOaSdFgHjKlZxCvBnMqWe\n-----END RSA PRIV~ATE KEY-----⟧",  # noqa: E501 - in one piece
        "here: ⟦-----BEGIN OPENSSH PRIV~ATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIV~ATE KEY-----⟧ keep it",  # noqa: E501 - in one piece
        '{"private_key": "⟦-----BEGIN PRIV~ATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END PRIV~ATE KEY-----\\n⟧"}',  # noqa: E501 - in one piece
        "⟦-----BEGIN EC PRIV~ATE KEY-----\nMHcCAQEEIIGa8Kd03Lmqpx9Zt7bVn2cRw5yUe1iOaSdFgHj⟧",
        "⟦-----BEGIN PGP PRIV~ATE KEY BLOCK-----\nVersion: GnuPG v2\n\nlQOYBF8a8Kd0ABCADLmqpx9Zt7bVn2c\n-----END PGP PRIV~ATE KEY BLOCK-----⟧",  # noqa: E501 - in one piece
    ),
    "card": (
        "my card is ⟦4111 1111~ 1111 1111⟧, expires 12/27",
        "Visa ⟦40128888~88881881⟧",
        "Mastercard ⟦5555-5555~-5555-4444⟧",
        "Amex ⟦3782 822463~ 10005⟧",
        "amex again: ⟦37144963~5398431⟧",
        "Discover ⟦60111111~11111117⟧.",
        "diners ⟦3056 930902~ 5904⟧",
        "JCB ⟦3530 1113~ 3330 0000⟧",
        "Mastercard 2-series ⟦22230031~22003222⟧",
        "Karte: ⟦4242.4242~.4242.4242⟧",
        "13 digits: ⟦42222222~22222⟧",
        "19 digits: ⟦6212345678~901234569⟧",
        "paid on 2024-05-06 ⟦4111 1111~ 1111 1111⟧ twice",
    ),
}

SECRETS = tuple(_sample(kind, marked) for kind, texts in _MARKED.items() for marked in texts)
"""Texts with secrets of every detected kind."""

HARMLESS = tuple(
    text.replace("~", "")
    for text in (
        "my password is something I forget",
        "My password is too weak, I should change it.",
        "the password is wrong",
        "The password is case-sensitive and must be changed.",
        "password = get_password()",
        "password = os.environ['DB_PASSWORD']",
        "password = getpass.getpass('Password: ')",
        "password: str = Field(min_length=8)",
        "def login(user, password): return check(user, password)",
        "password=password",
        "if password == None:",
        "token = request.headers.get('Authorization')",
        "token = parser.next()",
        "const token = await getToken();",
        "api_key = settings.API_KEY",
        "apiKey: process.env.API_KEY",
        "API_KEY=${API_KEY}",
        "export TOKEN=$MY_TOKEN",
        "password: ********",
        "password: <your password>",
        "api_key: YOUR-API-KEY-HERE",
        "password: [REDACTED]",
        "postgres://bob:[REDACTED]@db/app",
        "postgres://user:${PASSWORD}@host/db",
        "postgres://localhost:5432/app",
        "https://example.org/login?next=/home",
        "https://example.org:8080/@scope/package",
        "mail me at http://example.org or bob@example.org",
        "git clone git@github.com:acme/app.git",
        "ssh bob@example.org",
        "Password: required",
        "Password must contain at least 8 characters.",
        "The password has to be 12 characters long.",
        "I forgot the password to Netflix.",
        "We talked about passwords and how bad they are.",
        "Passwords: use a manager.",
        "My password manager is 1Password.",
        "password hashing uses argon2id",
        "passwords are stored with sha256",
        "Password reset: see the email we sent",
        "Mein Passwort ist leider abgelaufen.",
        "Das Passwort ist falsch.",
        "Passwort vergessen? Hier zurücksetzen.",
        "Ich habe mein Passwort vergessen.",
        "Das Passwort lautet wie immer",
        "The secret to good bread is patience.",
        "secret santa: Anna drew Bob",
        "token: a word piece of the tokenizer",
        "tokens: 4096",
        "max_tokens=1000",
        "The token budget is 2000.",
        "token_count: 15",
        "access token expires in 3600s",
        "The key to success: practice.",
        "primary_key=True",
        "key: value",
        "auth: bob@example.org",
        "authorization: required",
        "Author: J. K. Rowling",
        "compass: north",
        "bypass the town",
        "550e8400-e29b-41d4-a716-446655440000",
        "order id 7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke it",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "md5 d41d8cd98f00b204e9800998ecf8427e",
        "ISBN 978-3-16-148410-0",
        "ISBN 9783161484100",
        "call me at +49 170 1234567",
        "phone: (555) 123-4567 or 0049 30 901820",
        "+1 415 555 2671",
        "IMEI 490154203237518",
        "tracking number 1Z999AA10123456784",
        "order 1234567890123456",
        "4111 1111 1111 1112 is not a card",
        "epoch 1700000000000 ms",
        "pi is 3.14159265358979323846",
        "0.4111111111111111",
        "snowflake 1041111111111111118",
        "build 2024.05.06.1234567890",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZ5bXJhbmRvbXB1YmxpY2tleQ bob@laptop",
        "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJB\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
        "version 1.2.3-beta.4+build.567",
        "Donaudampfschifffahrtsgesellschaftskapitänsmütze",
        "pneumonoultramicroscopicsilicovolcanoconiosis",
        "sk-learn-style-estimators-are-nice",
        "the sk-SK locale and the sk-something-or-other-thing",
        "npm install left-pad",
        "pypi-publish is a workflow",
        "the AKIA prefix marks AWS keys",
        "xoxo, Grandma",
        "ghp_ is the prefix of GitHub's tokens",
        "eyJ is how every JWT begins",
        "pk_live_51H8xKqLmNpRtVwYz3a8Kd03L is publishable",
        "My PIN code is 110001, New Delhi",
        "room 4111, seat 1111, row 1111",
        "2024-01-02 2024-03-04 2024-05-06",
        "192.168.100.200",
        "IBAN DE89 3704 0044 0532 0130 00",
        "I met Anna at 10:30 and paid 1.234.567,89 EUR",
        "The pass over the Alps is closed.",
        "pass: 12 of 15 tests",
        "He passed: 3 goals",
        "credentials: see the vault",
        "bearer of bad news",
        "the bearer token is sent in the header",
        "Basic authentication is old",
        "user: bob, role: admin",
        "class PasswordField(TextInput): pass",
        "secretary: Ms. Miller",
        "keyboard: Keychron K2",
        "My API key is stored in the keychain.",
        "the api key is in 1Password",
        "Access key: ask Bob.",
        "ask for the access token at the desk on floor 3",
        "password field",
        "SECRET_KEY = config('SECRET_KEY')",
        "passphrase: ",
        "What is your password?",
        "the license key is on the box",
        "Schlüssel: unter der Matte",
        '<label for="password">Password:</label>',
        "`test_hash_password`: Ensures that the hash differs",
        "**API Key**: Make sure to replace it",
        "use your xoxb-your-slack-token here",
    )
)
"""Hard negatives: texts that look as if they contained a secret."""
